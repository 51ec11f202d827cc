"""Find an embedder by its name, by the model a store recorded, or by what is installed."""

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
    """A kind of embedder: its name, its models, and how to load them.

    `model_pattern` matches the model names that stores record; `load` takes such a name.
    """

    name: str
    about: str
    default_model: str
    model_pattern: str
    load: Callable[[str], Embedder]
    requirements: EmbedderRequirements | None = None

    def find_fix(self) -> str | None:
        """Return how to install what is missing, or `None`."""
        if self.requirements is None or not self.requirements.find_missing():
            return None
        return self.requirements.fix


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """An embedder with its model, and how to install what it is missing, if anything."""

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
"""Every embedder that needs no server, by name."""

AUTO_PROVIDERS = ("minilm", "wordllama")
"""The candidates of `auto`; the first installed one is taken."""


def find_embedder(name: str | None = None, *, key: str | None = None) -> Embedder:
    """Return an embedder by name; raise if something it needs is not installed.

    Names are `auto` (also for `None`), `minilm`, `wordllama`, `hashing`, a recorded model, or
    `https://host/v1#model`; only an address takes a `key`. Models are loaded on first use.
    """
    name = AUTO if name is None else name
    if name.startswith(("http://", "https://")):
        return _load_openai(name, key)
    if key is not None:
        raise InvalidInput(f"embedder {show(name)} takes no key; leave it out")
    if name == AUTO:
        return _load_best_installed()
    if name in PROVIDERS:
        return PROVIDERS[name].load(PROVIDERS[name].default_model)
    return _load_by_model(name, [AUTO, *PROVIDERS, *_default_models()])


def find_embedder_for_model(model: str) -> Embedder:
    """Return the embedder whose vectors are recorded under that model name."""
    if model.startswith("http:"):
        name = model.removeprefix("http:")
        raise InvalidInput(f"model {name!r} is on a server; give its address, such as https://host/v1#{name}")
    return _load_by_model(model, _default_models())


def list_embedders() -> list[Availability]:
    """Return every embedder that needs no server, and what is missing, without loading any."""
    return [
        Availability(name=provider.name, about=provider.about, model=provider.default_model, fix=provider.find_fix())
        for provider in PROVIDERS.values()
    ]


def _load_by_model(model: str, known: list[str]) -> Embedder:
    for provider in PROVIDERS.values():
        if re.fullmatch(provider.model_pattern, model):
            return provider.load(model)
    raise NotFound(f"{show(model)} is neither an embedder nor an address; {suggest(model, known)}")


def _default_models() -> list[str]:
    """Return the default model names."""
    return [provider.default_model for provider in PROVIDERS.values()]


def _load_best_installed() -> Embedder:
    for name in AUTO_PROVIDERS:
        if PROVIDERS[name].find_fix() is None:
            return PROVIDERS[name].load(PROVIDERS[name].default_model)
    raise ProviderError(f"no embedder is installed; {PROVIDERS[AUTO_PROVIDERS[-1]].find_fix()}")


def _load_openai(address: str, key: str | None) -> Embedder:
    """Return the embedder of a server; the model is the part after the #."""
    from recollect.providers.http_client import redact_url
    from recollect.providers.openai_embeddings import OpenAIEmbedder

    url, _, model = address.partition("#")
    if not model:
        raise InvalidInput(f"{redact_url(url)} has no model; add one after a #, such as https://host/v1#model")
    return OpenAIEmbedder(url, unquote(model), key=key)
