"""Ids that sort by time, and markers."""

import threading
import uuid
from datetime import timedelta

from recollect.ids import make_id_generator, new_marker
from recollect.packing.prompt import Prompt
from recollect.testing import NOW


def test_an_id_is_a_uuid_of_version_7_that_begins_with_its_moment() -> None:
    made = uuid.UUID(make_id_generator()(NOW))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == NOW.timestamp() * 1000


def test_ids_sort_in_the_order_they_were_made_though_the_clock_stands_still_or_goes_back() -> None:
    make = make_id_generator()
    ids = [make(NOW - timedelta(milliseconds=place % 3)) for place in range(300_000)]
    assert ids == sorted(set(ids))


def test_threads_never_get_the_same_id() -> None:
    make, made = make_id_generator(), list[str]()
    threads = [threading.Thread(target=lambda: made.extend(make(NOW) for _ in range(2_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8_000


def test_a_marker_is_one_that_a_prompt_takes_and_never_the_same() -> None:
    markers = {new_marker() for _ in range(1_000)}
    assert len(markers) == 1_000
    assert all(Prompt(marker).marker == marker for marker in markers)
