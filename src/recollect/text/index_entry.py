"""Index entry: analyze the title and text of a memory once, for searches and duplicate lookups."""

from recollect.model import changeset
from recollect.model.memory import Memory
from recollect.text.entities import find_entities
from recollect.text.paraphrase import paraphrase_key
from recollect.text.tokenizer import count_terms


def index_memory(memory: Memory) -> changeset.IndexEntry:
    """Return the keys, terms and names of a memory's title and text."""
    searched = memory.searched_text
    return changeset.IndexEntry(
        searched, memory.hash, paraphrase_key(memory), count_terms(searched), find_entities(searched)
    )
