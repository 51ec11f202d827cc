"""The estimate against exact counts of o200k, which were measured once and are written here as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.packing.tokens import Estimate, TokenCounter
from tests.tables import table

EXACT = {
    "The user prefers short answers and dislikes long explanations; deploys run on Fridays after review.": 18,
    "User agreed to list all outstanding debts next week. Creditor: Access Bank. Balance: NGN 750,000 at 22%.": 28,
    "def pack(ranking: Ranking, budget: Budget) -> Context:\n    return Context(tuple(packed), room)\n": 23,
    '{"id": "m1", "kind": "fact", "tags": ["a", "b"], "score": 0.75, "at": "2026-01-01T00:00:00Z"}': 48,
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": 43,
    "01JGXYZ5K3M8Q2R7T9V4W6A1BC": 21,
    "f47ac10b-58cc-4372-a567-0e02b2c3d479": 23,
    "31415926535897932384626433832795028841971693993751": 17,
    "-12.5 +7.25 1,000,000 3.14159 42 0.001 99.9% 1e-9": 35,
    "!@#$%^&*()_+-=[]{}|;':\",./<>?~`!?.;:#/\\|~^": 28,
    "用户喜欢简短的回答，不喜欢多余的细节。每周五下午部署，除非有未解决的事故。": 28,
    "ユーザーは短い回答を好み、余計な説明を嫌います。デプロイは毎週金曜日の午後に行われます。": 33,
    "사용자는 짧은 답변을 선호하고 불필요한 설명을 싫어합니다. 배포는 매주 금요일 오후에 진행됩니다.": 34,
    "Пользователь предпочитает короткие ответы и просит не использовать сложные термины.": 20,
    "يفضل المستخدم الإجابات القصيرة ولا يحب التفاصيل الزائدة. يتم النشر كل يوم جمعة.": 21,
    "उपयोगकर्ता को छोटे उत्तर पसंद हैं और वह अनावश्यक विवरण नहीं चाहता।": 18,
    "ተጠቃሚው አጭር መልሶችን ይመርጣል እና አላስፈላጊ ዝርዝሮችን አይወድም።": 83,
    "Użytkownik woli krótkie odpowiedzi; Straßenverkehrsordnung, après-midi, Dağıtım günleri.": 26,
    "😀😂🥺😍👍🎉🔥💯🙏😊✨🚀🫠🦤🪗🧿": 28,
    "→ ≤ ≠ ∑ ∞ ✓ ✗ ★ ☂ ⚙ ⌘ ─ │ ┌ █": 25,
    "𒀀𒀁𒀂𓀀𓀁𐎠": 24,
    "&#8203;&#8205;&amp;&lt;&gt;&quot;&#917569;": 18,
    "one\n\n\ttwo\n    three\n\n\n        four  five   six\t\tseven": 17,
}
"""Texts and how many tokens of o200k they are, as counted by rs-bpe 0.1.0."""

MODEST = 1.25
"""How far above the exact count the estimate of plain English may be."""


@table(("text", "exact"), EXACT.items())
def test_an_estimate_is_not_below_the_exact_count(text: str, exact: int) -> None:
    assert Estimate()(text) >= exact


@table(("text", "exact"), [*EXACT.items()][:2])
def test_an_estimate_of_english_is_modestly_above_the_exact_count(text: str, exact: int) -> None:
    assert Estimate()(text) <= MODEST * exact


def test_an_estimate_says_that_it_is_one() -> None:
    counter: TokenCounter = Estimate()
    assert (counter.name, counter.exact) == ("estimate", False)


def test_nobody_can_make_an_estimate_exact() -> None:
    with pytest.raises(TypeError):
        Estimate(exact=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Estimate(name="o200k")  # type: ignore[call-arg]


def test_nothing_counts_nothing() -> None:
    assert Estimate()("") == 0


@table(
    ("text", "pieces"),
    [
        (" deploy", 1),  # a word goes with the blank before it
        (" deploys", 2),  # six letters are sure to be one token, seven are not
        ("Deploy", 1),
        ("DEPLOY", 3),
        ("deployDate", 2),
        ("abcdefghijklmnop", 4),  # after twelve letters it is two letters a token
        ("1234", 2),
        ("1a2b", 4),
        ("aBcD", 4),
        ("----------------", 1),
        ("-----------------", 2),
        ("?!", 2),
        ('"}', 1),
        ("é", 1),
        ("привет", 3),
        ("नमस्ते", 3),
        ("ế", 1),
        ("—", 1),
        ("か", 1),
        ("漢", 1),
        ("한", 1),
        ("，", 1),
        ("😀", 3),
        ("𒀀", 4),
        ("→", 3),
        ("   ", 1),
        ("\n\n", 1),
        ("\t\t", 2),
        ("\ud800", 1),  # a lone surrogate is counted and not a crash
    ],
)
def test_a_piece_of_text_is_a_token(text: str, pieces: int) -> None:
    assert Estimate()(text) == pieces


@given(st.text(st.characters(), min_size=1, max_size=200))
def test_a_text_is_at_least_a_token_and_at_most_one_for_each_byte(text: str) -> None:
    assert 1 <= Estimate()(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(st.text(st.characters(), max_size=200), st.text(st.characters(), max_size=200))
def test_lines_of_markup_cost_the_same_together_as_apart(one: str, two: str) -> None:
    count = Estimate()
    assert count(f"{one}>\n<m{two}") == count(f"{one}>\n") + count(f"<m{two}")
