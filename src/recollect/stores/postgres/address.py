"""Address: where a PostgreSQL database is, and what messages call it."""

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import InvalidInput

_URL_REMEDY = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %XX"


def redact_url(address: str) -> str:
    """The address without its password, as messages have it."""
    before = address.partition("://")[2].partition("?")[0]
    user, at, rest = before.partition("@")
    if "@" in rest or (at and "/" in user):  # the driver would take part of a password for a host or a database
        raise _invalid_url()
    try:
        parts = conninfo_to_dict(address)
    except ProgrammingError:  # whose text may have the password
        raise _invalid_url() from None
    named = f"{parts['user']}@" if parts.get("user") else ""
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    port = f":{parts['port']}" if parts.get("port") else ""
    where = f"{'' if host.startswith('/') else host}{port}"
    return f"postgresql://{named}{where}/{parts.get('dbname', '')}"


def _invalid_url() -> InvalidInput:
    return InvalidInput(f"the address of the PostgreSQL database cannot be read; {_URL_REMEDY}")
