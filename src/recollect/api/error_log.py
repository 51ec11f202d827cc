"""Faults: what should not have happened, logged in one way whichever face it was asked through, and told by an id."""

import logging
import secrets

from recollect.api.problems import INTERNAL_PROBLEM, Problem
from recollect.errors import list_frames

_LOG = logging.getLogger(__name__)


def log_internal_error(face: str, error: BaseException) -> Problem:
    """Log a fault of ours under an id, without a word of what it was about, and give what is told of it."""
    id = secrets.token_hex(6)
    told = {"id": id, "face": face, "error": type(error).__name__, "frames": list_frames(error)}
    _LOG.error("broke", extra=told)
    return Problem(code=INTERNAL_PROBLEM.code, message=f"{INTERNAL_PROBLEM.message} under {id}")
