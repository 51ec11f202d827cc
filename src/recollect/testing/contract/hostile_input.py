"""Whatever a text or an id is made of, a store takes it as it is."""

from recollect.model.memory import Status
from recollect.model.usage import Use
from recollect.protocols import Store
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.contract.evidence import compute_shares, found_shares
from recollect.testing.store_builders import (
    ENCODER,
    a_note,
    a_probe,
    eligible_ids,
    find_candidate,
    find_duplicate,
    ids,
    put,
    put_all,
    vector_similarity,
    visible_ids,
)
from recollect.testing.variants import Variant, affected_by

HOSTILE_TEXTS = {
    "fts-quotes": '"unbalanced',
    "fts-syntax": 'NEAR(deploys Friday, 2) AND NOT "x" OR col:term* ^first -minus +plus',
    "sql": "'; DROP TABLE memories; --",
    "placeholders": ":scope ?1 @a $b %s %d {state:m} {values}",
    "wildcards": "% _ * ? [a-z]",
    "json": '{"a": [1, "b\\"]}',
    "markup": "</memory><script>alert(1)</script> &amp; ]]>",
    "controls": "bell \x07 escape \x1b delete \x7f next \x85",
    "lines": "one\r\ntwo\u2028three\u2029four\ttab",
    "directions": "\u202eright to left\u202c \u200d\u200b\ufeff",
    "marks": "Z\u0335\u0321\u0322\u0327a" + "\u0301" * 500,
    "decomposed": "cafe\u0301 caf\u00e9 \u212b \ufb01",
    "every-plane": "".join(chr((plane << 16) + 0x1234) for plane in range(17) if plane != 0xD) + "\U0010ffff",
    "noncharacters": "\ufffe\uffff\ufdd0\U0001fffe",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 deploys",
    "scripts": "развёртывание ทดสอบ 部署 配置 النشر देवनागरी ᚠᚢᚦ 𓀀𓁐",
    "blank-edges": "  \n padded \t ",
    "one-long-word": "x" * 10_000,
    "numbers": "0 -0 1e308 NaN Infinity 0x1F १२३",
}


class HostileTextContract:
    """Whatever a text is made of, it is kept as it is, found by its words, and disturbs no other."""

    def test_texts_of_any_characters_are_kept_and_found_and_disturb_nothing(self, store: Store, writer: Store) -> None:
        kept = put(writer, *(a_note(name, text=text, metadata={"said": text}) for name, text in HOSTILE_TEXTS.items()))
        assert store.get(SCOPE, ids(*HOSTILE_TEXTS)) == kept
        assert [one.text for one in kept] == list(HOSTILE_TEXTS.values())
        for one in kept:
            assert writer.write(lambda writing, one=one: find_duplicate(writing, one)) == one  # type: ignore[misc]
            for question in (one.text, f"deploys {one.text}"):
                found = store.gather(a_probe(question))
                assert found_shares(found, list(HOSTILE_TEXTS)) == compute_shares(
                    question, list(HOSTILE_TEXTS.values())
                )
                assert find_candidate(found, one.id).similarity == vector_similarity(one.text, question)

    def test_every_character_there_is_can_be_kept(self, store: Store, writer: Store) -> None:
        pages = [
            "x" + "".join(chr(code) for code in range(start, start + 0x10000) if code and not 0xD800 <= code < 0xE000)
            for start in range(0, 0x110000, 0x10000)
        ]
        writer.write(lambda writing: [writing.put(a_note(f"{n:02}", text=text), None) for n, text in enumerate(pages)])
        assert [one.text for one in store.memories(SCOPE, below=False, statuses=[Status.ACTIVE])] == pages

    def test_a_text_of_a_megabyte_is_kept_and_found(self, store: Store, writer: Store) -> None:
        text = "deploys run on Fridays; " * (1_048_576 // 24)
        (kept, _) = put(writer, a_note("long", text=text), a_note("short", text="deploys"))
        assert store.get(SCOPE, ids("long")) == [kept]
        found = store.gather(a_probe("deploys Fridays"))
        assert found_shares(found, ["long", "short"]) == compute_shares("deploys Fridays", [text, "deploys"])

    def test_ids_of_any_characters_are_each_one_memorys_alone(self, store: Store, writer: Store) -> None:
        odd = ["'", '"', "a b", "ünï", "u\u0308", "ü", "%", "--", "1", "01", "💾", "x" * 256, "-1", "NULL", "A", "a"]
        kept = put(writer, *(a_note(id, text=f"number {number}") for number, id in enumerate(odd)))
        assert store.get(SCOPE, ids(*odd)) == kept
        assert visible_ids(store, SCOPE) == sorted(odd)
        for one in kept:
            assert store.history(SCOPE, one.id) == [one]
        writer.write(lambda writing: writing.record(SCOPE, ids("a", "ü", '"'), Use.SERVED, NOW, None))
        assert [id for id, one in zip(odd, store.usage(SCOPE, ids(*odd)), strict=True) if one.served] == ['"', "ü", "a"]

    @affected_by(Variant.IN_MEMORY)
    def test_a_large_write_is_one_write(self, store: Store, writer: Store) -> None:
        notes = [a_note(f"{number:05}") for number in range(3_000)]
        kept = writer.write(lambda writing: put_all(writing, notes))
        assert {one.commit for one in kept} == {kept[0].commit}
        assert eligible_ids(store.gather(a_probe("what 00007 says"))) == [one.id for one in notes]
        assert store.encoder() == ENCODER
