"""Which embedder: by the name a user writes, by the model a store recorded, or by what is installed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from recollect.errors import InvalidInput, NotFound, ProviderError, remedy, show
from recollect.protocols import Embedder
from recollect.providers.embedder_assets import MINILM, WORDLLAMA, Kit

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A way to an embedder: `models` matches the names it is recorded by, `load` makes it for one of them."""

    name: str
    about: str
    default: str
    models: str
    load: Callable[[str], Embedder]
    kit: Kit | None = None

    def fix(self) -> str | None:
        """How to get what is missing, if anything is."""
        if self.kit is None or not self.kit.missing():
            return None
        return self.kit.fix


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether an embedder could be loaded, the name its vectors would be recorded by, and what to do if it cannot."""

    name: str
    about: str
    model: str
    fix: str | None

    @property
    def ready(self) -> bool:
        return self.fix is None


def _minilm(_: str) -> Embedder:
    from recollect.providers.minilm import MiniLM

    return MiniLM()


def _wordllama(_: str) -> Embedder:
    from recollect.providers.static import Static

    return Static()


def _hashing(model: str) -> Embedder:
    from recollect.providers.hashing import Hashing

    return Hashing(int(model.removeprefix("hashing-")))


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="minilm",
            about="all-MiniLM-L6-v2 in this process: the best that needs no server",
            default="all-minilm-l6-v2-m8",
            models="all-minilm-l6-v2-m8",
            load=_minilm,
            kit=MINILM,
        ),
        Provider(
            name="wordllama",
            about="a static table: no model to run, a hundred times faster, knows less",
            default="wordllama-256",
            models="wordllama-256",
            load=_wordllama,
            kit=WORDLLAMA,
        ),
        Provider(
            name="hashing",
            about="shared words and parts of words only: for tests and demonstrations",
            default="hashing-256",
            models="hashing-[1-9][0-9]{0,4}",
            load=_hashing,
        ),
    )
}
"""Every embedder that needs no address, by the name a user writes."""

BY_ITSELF = ("minilm", "wordllama")
"""What `auto` takes, the first that is installed."""


def embedder(name: str | None = None, *, key: str | None = None) -> Embedder:
    """The embedder of that name: `auto` (also for `None`), `minilm`, `wordllama`, `hashing`, a recorded model, or
    `https://host/v1#model`, which alone takes a `key`.

    What it needs is loaded when it is first asked to embed; what is missing is told now.
    """
    name = AUTO if name is None else name
    if name.startswith(("http://", "https://")):
        return _behind(name, key)
    if key is not None:
        raise InvalidInput(f"a key was given for the embedder {show(name)}, which takes none; leave it out")
    if name == AUTO:
        return _by_itself()
    if name in PROVIDERS:
        return PROVIDERS[name].load(PROVIDERS[name].default)
    return _recorded(name, [AUTO, *PROVIDERS, *_models()])


def for_model(model: str) -> Embedder:
    """The embedder whose vectors are recorded by that name."""
    if model.startswith("http:"):
        served = model.removeprefix("http:")
        raise InvalidInput(f"the model {served!r} is behind an address; name it as https://host/v1#{served}")
    return _recorded(model, _models())


def available() -> list[Availability]:
    """Every embedder that needs no address, with what is missing; nothing heavy is loaded to find out."""
    return [
        Availability(name=provider.name, about=provider.about, model=provider.default, fix=provider.fix())
        for provider in PROVIDERS.values()
    ]


def _recorded(model: str, known: list[str]) -> Embedder:
    for provider in PROVIDERS.values():
        if re.fullmatch(provider.models, model):
            return provider.load(model)
    raise NotFound(f"no embedder is called {show(model)}, nor is that an address; {remedy(model, known)}")


def _models() -> list[str]:
    """The names that vectors are recorded by, unless a user asks for other dimensions."""
    return [provider.default for provider in PROVIDERS.values()]


def _by_itself() -> Embedder:
    for name in BY_ITSELF:
        if PROVIDERS[name].fix() is None:
            return PROVIDERS[name].load(PROVIDERS[name].default)
    raise ProviderError(f"no embedder is installed; {PROVIDERS[BY_ITSELF[-1]].fix()}")


def _behind(address: str, key: str | None) -> Embedder:
    """The embedder behind an address, with the model after the #."""
    from recollect.providers.http_client import public
    from recollect.providers.openai_embeddings import Http

    url, _, model = address.partition("#")
    if not model:
        raise InvalidInput(f"{public(url)} names no model; write it after a #, as https://host/v1#model")
    return Http(url, unquote(model), key=key)
