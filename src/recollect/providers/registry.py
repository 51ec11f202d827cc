"""Which embedder: by the name a user writes, by the model a store recorded, or by what is installed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from recollect.errors import InvalidInput, NotFound, ProviderError, show, suggest
from recollect.protocols import Embedder
from recollect.providers.embedder_assets import MINILM_REQUIREMENTS, WORDLLAMA_REQUIREMENTS, EmbedderRequirements

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A way to an embedder: `model_pattern` matches the names it is recorded by, `load` makes it for one of them."""

    name: str
    about: str
    default_model: str
    model_pattern: str
    load: Callable[[str], Embedder]
    requirements: EmbedderRequirements | None = None

    def find_fix(self) -> str | None:
        """How to get what is missing, if anything is."""
        if self.requirements is None or not self.requirements.find_missing():
            return None
        return self.requirements.fix


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


def _load_minilm(_: str) -> Embedder:
    from recollect.providers.minilm import MiniLM

    return MiniLM()


def _load_wordllama(_: str) -> Embedder:
    from recollect.providers.static import StaticEmbedder

    return StaticEmbedder()


def _load_hashing(model: str) -> Embedder:
    from recollect.providers.hashing import HashingEmbedder

    return HashingEmbedder(int(model.removeprefix("hashing-")))


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="minilm",
            about="all-MiniLM-L6-v2 in this process: the best that needs no server",
            default_model="all-minilm-l6-v2-m8",
            model_pattern="all-minilm-l6-v2-m8",
            load=_load_minilm,
            requirements=MINILM_REQUIREMENTS,
        ),
        Provider(
            name="wordllama",
            about="a static table: no model to run, a hundred times faster, knows less",
            default_model="wordllama-256",
            model_pattern="wordllama-256",
            load=_load_wordllama,
            requirements=WORDLLAMA_REQUIREMENTS,
        ),
        Provider(
            name="hashing",
            about="shared words and parts of words only: for tests and demonstrations",
            default_model="hashing-256",
            model_pattern="hashing-[1-9][0-9]{0,4}",
            load=_load_hashing,
        ),
    )
}
"""Every embedder that needs no address, by the name a user writes."""

AUTO_PROVIDERS = ("minilm", "wordllama")
"""What `auto` takes, the first that is installed."""


def find_embedder(name: str | None = None, *, key: str | None = None) -> Embedder:
    """The embedder of that name: `auto` (also for `None`), `minilm`, `wordllama`, `hashing`, a recorded model, or
    `https://host/v1#model`, which alone takes a `key`.

    What it needs is loaded when it is first asked to embed; what is missing is told now.
    """
    name = AUTO if name is None else name
    if name.startswith(("http://", "https://")):
        return _load_openai(name, key)
    if key is not None:
        raise InvalidInput(f"a key was given for the embedder {show(name)}, which takes none; leave it out")
    if name == AUTO:
        return _load_best_installed()
    if name in PROVIDERS:
        return PROVIDERS[name].load(PROVIDERS[name].default_model)
    return _load_by_model(name, [AUTO, *PROVIDERS, *_default_models()])


def find_embedder_for_model(model: str) -> Embedder:
    """The embedder whose vectors are recorded by that name."""
    if model.startswith("http:"):
        served = model.removeprefix("http:")
        raise InvalidInput(f"the model {served!r} is behind an address; name it as https://host/v1#{served}")
    return _load_by_model(model, _default_models())


def list_embedders() -> list[Availability]:
    """Every embedder that needs no address, with what is missing; nothing heavy is loaded to find out."""
    return [
        Availability(name=provider.name, about=provider.about, model=provider.default_model, fix=provider.find_fix())
        for provider in PROVIDERS.values()
    ]


def _load_by_model(model: str, known: list[str]) -> Embedder:
    for provider in PROVIDERS.values():
        if re.fullmatch(provider.model_pattern, model):
            return provider.load(model)
    raise NotFound(f"no embedder is called {show(model)}, nor is that an address; {suggest(model, known)}")


def _default_models() -> list[str]:
    """The names that vectors are recorded by, unless a user asks for other dimensions."""
    return [provider.default_model for provider in PROVIDERS.values()]


def _load_best_installed() -> Embedder:
    for name in AUTO_PROVIDERS:
        if PROVIDERS[name].find_fix() is None:
            return PROVIDERS[name].load(PROVIDERS[name].default_model)
    raise ProviderError(f"no embedder is installed; {PROVIDERS[AUTO_PROVIDERS[-1]].find_fix()}")


def _load_openai(address: str, key: str | None) -> Embedder:
    """The embedder behind an address, with the model after the #."""
    from recollect.providers.http_client import redact_url
    from recollect.providers.openai_embeddings import OpenAIEmbedder

    url, _, model = address.partition("#")
    if not model:
        raise InvalidInput(f"{redact_url(url)} names no model; write it after a #, as https://host/v1#model")
    return OpenAIEmbedder(url, unquote(model), key=key)
