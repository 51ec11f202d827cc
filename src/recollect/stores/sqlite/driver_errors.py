"""Translation: what the driver raises, as an error of ours that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from recollect.errors import SchemaMismatch, StoreBusy, StoreError
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.stores.sqlite import descriptors


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Whatever the driver raises inside comes out as an error of ours, about the store of that name."""
    try:
        yield
    except apsw.Error as error:
        raise translate_error(error, name) from error


def translate_error(error: apsw.Error, name: str) -> StoreError:
    """What a driver's error means to somebody who keeps memories in the store of that name."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{name}: others are writing; try again in a moment")
        case apsw.FullError():
            return _disk_full_error(name)
        case apsw.CorruptError():
            return StoreError(f"{name}: the file is damaged ({error}); run `recollect verify` to see what can be saved")
        case apsw.NotADBError():
            return SchemaMismatch(f"{name} is no SQLite database; name another file, or move this one away")
        case apsw.CantOpenError() if descriptors.is_out_of_descriptors():
            return StoreError(f"{name}: {descriptors.too_many_files_message()}")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return StoreError(f"{name} cannot be written ({error}); check who may write to the file and its folder")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return _disk_full_error(name)  # no room for the index of the log, which SQLite does not call a full disk
        case apsw.IOError():
            return StoreError(
                f"{name}: the disk failed ({error}), so nothing was written; check the disk and your quota on it"
            )
        case _:
            return StoreError(f"{name}: {error}")


def _disk_full_error(name: str) -> StoreError:
    what = "its memory is full" if name == IN_MEMORY_TARGET else "the disk is full"
    return StoreError(f"{name}: {what}, so nothing was written; make room and try again")
