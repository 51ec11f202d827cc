"""Serving: whether agents can be served, and which frameworks can have their memory here."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from recollect.api.keys import ApiKey, KeyFile, read_private_file
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.model.diagnosis import Check, check_from_error, ok, problem, warning
from recollect.server.authenticator import keys_path, token_path

SERVER_PACKAGES: Sequence[str] = (
    *("grpcio", "grpcio-health-checking", "httptools", "mcp", "prometheus-client", "protobuf", "starlette", "uvicorn"),
)
"""What the extra `server` is made of."""

FRAMEWORK_PACKAGES: Mapping[str, str] = {
    "langgraph": "langgraph",
    "openai-agents": "openai-agents",
    "anthropic": "anthropic",
    "pydantic-ai": "pydantic-ai-slim",
}
"""The extra of each framework, and the package that it is."""


def check_serving(settings: Settings) -> list[Check]:
    """The faces, the keys and the frameworks."""
    return [check_server_packages(), check_keys(settings), check_frameworks()]


def check_server_packages() -> Check:
    """Whether what `recollect serve` and `recollect mcp` need is installed."""
    missing = [one for one in SERVER_PACKAGES if _installed_version(one) is None]
    if missing:
        remedy = "to serve agents, install recollect with its extra server (in its folder: pip install '.[server]')"
        return warning("faces", f"not installed: {', '.join(missing)}", remedy)
    return ok("faces", "HTTP, MCP and gRPC are installed")


def check_keys(settings: Settings) -> Check:
    """Whether a server could read its keys, and whether they let anybody in."""
    try:
        file = KeyFile(keys_path(settings.server))
        found = list(file.keys().values())
        return _check_key_expiry(found, file) if found else _check_token(settings, file)
    except RecollectError as error:
        return check_from_error("keys", error)


def _check_key_expiry(found: Sequence[ApiKey], file: KeyFile) -> Check:
    at = datetime.now(UTC)
    over = [one for one in found if not one.is_valid(at)]
    seen = f"{len(found)} in {file.path}"
    if len(over) == len(found):
        return problem("keys", f"{seen}, all expired, so nobody is let in", "make one with `recollect keys add`")
    if over:
        named = ", ".join(f"{one.id} of {one.name}" for one in over)
        return warning(
            "keys", f"{seen}, of which these have expired: {named}", "run `recollect keys revoke ID` of each"
        )
    return ok("keys", seen)


def _check_token(settings: Settings, file: KeyFile) -> Check:
    token = token_path(settings.server)
    if token.exists():
        read_private_file(token)
    return ok("keys", f"none in {file.path}, so only this machine is served, by the token in {token}")


def check_frameworks() -> Check:
    """Which frameworks are installed; most people need none of them."""
    return ok("frameworks", "; ".join(_describe_frameworks()))


def _describe_frameworks() -> Iterator[str]:
    found = {extra: _installed_version(package) for extra, package in FRAMEWORK_PACKAGES.items()}
    here = [f"{extra} {number}" for extra, number in found.items() if number is not None]
    gone = [extra for extra, number in found.items() if number is None]
    if here:
        yield f"installed: {', '.join(here)}"
    if gone:
        yield f"not installed: {', '.join(gone)}, which are extras of the same names"


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
