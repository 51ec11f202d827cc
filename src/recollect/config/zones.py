"""Time zones by name, as this machine or the package tzdata has them."""

from datetime import tzinfo
from zoneinfo import ZoneInfo

from recollect.errors import FieldError, show
from recollect.model import validation


def require_time_zone(field: str, name: str) -> tzinfo:
    """The time zone of that name; refused if there is none."""
    try:
        return ZoneInfo(validation.require_text(field, name))
    except (OSError, ValueError, KeyError) as error:  # the last of a name that no list has
        problem = f"{show(name)} is no time zone; give a name such as 'Europe/Lisbon'"
        raise FieldError(problem, field=field) from error
