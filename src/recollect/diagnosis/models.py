"""The models: whether the one that a store needs is to be had, and whether it is on its way to another."""

from collections.abc import Iterator, Sequence

from recollect.config import Settings
from recollect.diagnosis.installation import REMOTE_MODEL_PREFIX
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.factory import find_named_embedder
from recollect.model.diagnosis import Check, check_from_error, ok, problem, warning
from recollect.model.encoder import Encoder


def check_model(encoder: Encoder, settings: Settings) -> Check:
    """Whether the model that the store's vectors come from can be used."""
    from recollect.providers import registry

    name, seen = "model", f"the vectors are of {encoder}"
    if settings.embedder is not None:
        try:
            found = find_named_embedder(settings.embedder, settings)
        except RecollectError as error:
            return check_from_error(name, error)
        if found.name != encoder.name:
            remedy = "name that model in RECOLLECT_EMBEDDER, or run `recollect admin re-embed --embedder NAME`"
            return problem(name, f"{seen}, and the settings name {found.name}", remedy)
        return ok(name, f"{seen}, as the settings say")
    try:
        registry.find_embedder_for_model(encoder.name)
    except NotFound:
        remedy = "open the store with the embedder that made them, or run `recollect admin re-embed --embedder NAME`"
        return warning(name, f"{seen}, which is none of recollect's own", remedy)
    except InvalidInput:
        remedy = f"set RECOLLECT_EMBEDDER to https://host/v1#{encoder.name.removeprefix(REMOTE_MODEL_PREFIX)}"
        return warning(name, f"{seen}, which is behind an address", remedy)
    except RecollectError as error:
        return check_from_error(name, error)
    return ok(name, f"{seen}, which is installed")


def check_re_embedding(begun: Sequence[Encoder], dismissed: int) -> Iterator[Check]:
    """Whether the store is on its way to another model, or has not left a former one behind."""
    command = "run `recollect admin re-embed --embedder NAME`"
    for encoder in begun:
        remedy = f"{command} with that embedder to go on, or with the present one to call it off"
        yield warning("re-embedding", f"begun with {encoder}, and not finished", remedy)
    if dismissed:
        remedy = f"{command} with the present embedder"
        yield warning("re-embedding", "vectors of a former model are still to be removed", remedy)
