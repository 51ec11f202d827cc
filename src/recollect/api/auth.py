"""Access: what a caller may do, and to whose memories; one policy for every face."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from recollect.errors import AccessDenied, FieldError, NotFound, show
from recollect.model.scope import Scope
from recollect.model.trust import TRUST_BY_PROVENANCE, Provenance

WHOLE_STORE: Final = "*"
"""The reach of a grant that is not held to a scope: the whole store."""

Reach = Scope | Literal["*"]


class Right(StrEnum):
    """What a caller may do; none of them is part of another."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights over a scope and all below it, or over the whole store."""

    rights: frozenset[Right]
    reach: Reach

    def __post_init__(self) -> None:
        if not self.rights:
            raise FieldError("a grant without rights allows nothing; name at least one", field="rights")

    def covers(self, reach: Reach) -> bool:
        """Whether what is reached for lies within."""
        match self.reach, reach:
            case Scope(), Scope():
                return reach.within(self.reach)
            case Scope(), _:
                return False
            case _:
                return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: by which name, with which grants, and how far what is said through it is believed at most.

    `missing_right_hint` is why a right is missing, for who has no key that could have it.
    """

    name: str
    grants: tuple[Grant, ...]
    provenance: Provenance = Provenance.DIRECT_USER
    missing_right_hint: str | None = None

    @property
    def scope(self) -> Scope | None:
        """The scope that goes without saying: that of the grants, if they all have the same one."""
        reaches = {grant.reach for grant in self.grants}
        only = next(iter(reaches)) if len(reaches) == 1 else WHOLE_STORE
        return only if isinstance(only, Scope) else None

    def has_right(self, right: Right, reach: Reach) -> bool:
        """Whether the caller has the right over what is reached for."""
        return any(right in grant.rights for grant in self.grants if grant.covers(reach))

    def require_right(self, right: Right, reach: Reach) -> None:
        """Refuse what the caller may not do. Whose scope it is not learns nothing of it, not even that it is there."""
        covering = [grant for grant in self.grants if grant.covers(reach)]
        if any(right in grant.rights for grant in covering):
            return
        if reach == WHOLE_STORE:
            raise AccessDenied(
                f"{show(self.name)} lacks the right {show(right.value)} over the whole store; "
                f"{self.missing_right_hint or 'a key for that is made with --whole-store'}"
            )
        if not covering:
            raise NotFound(f"there is no scope {show(str(reach))}, or it is not for {show(self.name)}")
        raise AccessDenied(
            f"{show(self.name)} lacks the right {show(right.value)} in {show(str(reach))}; {self._missing_right_remedy}"
        )

    def has_right_anywhere(self, right: Right) -> bool:
        """Whether the caller has the right anywhere."""
        return any(right in grant.rights for grant in self.grants)

    def require_right_anywhere(self, right: Right) -> None:
        """Refuse who has the right nowhere, for what is of no scope."""
        if not self.has_right_anywhere(right):
            raise AccessDenied(f"{show(self.name)} lacks the right {show(right.value)}; {self._missing_right_remedy}")

    @property
    def _missing_right_remedy(self) -> str:
        return self.missing_right_hint or "it takes a key that has it"

    def cap_provenance(self, provenance: Provenance) -> Provenance:
        """The provenance that is said, or the most that this caller is believed."""
        return (
            self.provenance
            if TRUST_BY_PROVENANCE[self.provenance].less_than(TRUST_BY_PROVENANCE[provenance])
            else provenance
        )


def parse_right(value: str) -> Right:
    """The right of that name."""
    if value not in tuple(Right):
        raise FieldError(f"{show(value)} is no right; known are {', '.join(Right)}", field="rights")
    return Right(value)


def parse_reach(value: str) -> Reach:
    """The scope that is named, or the whole store for `*`."""
    return WHOLE_STORE if value == WHOLE_STORE else Scope.parse(value)


def create_owner(name: str = "owner", reach: Reach = WHOLE_STORE) -> Caller:
    """Whoever may do everything there: the user at whose terminal a face runs."""
    return Caller(name=name, grants=(Grant(frozenset(Right), reach),), provenance=Provenance.OPERATOR)
