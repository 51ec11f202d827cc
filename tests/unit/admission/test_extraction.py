"""What is read from a conversation by phrases alone: what lasts, of whom, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.extraction import extract_phrases
from recollect.admission.policy import ConfidencePolicy, ImportancePolicy
from recollect.model.conversation import ConversationTurn, Extract, Role
from recollect.model.enums import Kind

IMPORTANCE, CONFIDENCE = ImportancePolicy(), ConfidencePolicy()


def read(*turns: str | ConversationTurn, most: int = 10) -> tuple[Extract, ...]:
    said = [turn if isinstance(turn, ConversationTurn) else ConversationTurn(text=turn) for turn in turns]
    return extract_phrases(said, most=most, importance=IMPORTANCE, confidence=CONFIDENCE)


def kinds(text: str) -> list[str]:
    return [extract.kind.value for extract in read(text)]


@table(
    ("text", "kind"),
    [
        ("My name is Ana.", Kind.PROFILE),
        ("Please call me Sam.", Kind.PROFILE),
        ("I'm a nurse.", Kind.PROFILE),
        ("I am a retired schoolteacher and violin player.", Kind.PROFILE),
        ("I’m originally from Porto.", Kind.PROFILE),
        ("I live in Lisbon with my wife.", Kind.PROFILE),
        ("I work at a small bakery.", Kind.PROFILE),
        ("I'm vegetarian.", Kind.PROFILE),
        ("My birthday is on 3 May.", Kind.PROFILE),
        ("I speak Dutch and a little Polish.", Kind.PROFILE),
        ("I'm allergic to peanuts.", Kind.FACT),
        ("I can't eat gluten.", Kind.FACT),
        ("I have two kids and a dog called Rex.", Kind.FACT),
        ("My dog is called Rex.", Kind.FACT),
        ("I've been teaching chemistry for twelve years.", Kind.FACT),
        ("I play the cello in an amateur orchestra.", Kind.FACT),
        ("My goal is to run a marathon before winter.", Kind.FACT),
        ("I used to live in Oslo.", Kind.FACT),
        ("I prefer window seats.", Kind.PREFERENCE),
        ("I hate instant coffee.", Kind.PREFERENCE),
        ("I don't like long meetings.", Kind.PREFERENCE),
        ("I'm a big fan of Brazilian jazz.", Kind.PREFERENCE),
        ("My favourite colour is green.", Kind.PREFERENCE),
        ("Sourdough is one of my favourites.", Kind.PREFERENCE),
        ("I'd rather walk than drive.", Kind.PREFERENCE),
        ("I always drink tea in the morning.", Kind.PATTERN),
        ("I swim twice a week.", Kind.PATTERN),
        ("I take warfarin daily.", Kind.PATTERN),
        ("I'm no longer a vegetarian.", Kind.PROFILE),
        ("I need to take insulin at noon.", Kind.FACT),
        ("My wife is allergic to shellfish.", Kind.FACT),
        ("We use Slack at work.", Kind.FACT),
        ("I stopped eating meat.", Kind.EVENT),
        ("Don't use emojis.", Kind.CONSTRAINT),
        ("We deploy the shop every Friday.", Kind.PATTERN),
        ("I decided to leave the choir.", Kind.DECISION),
        ("We're going with PostgreSQL.", Kind.DECISION),
        ("I moved to Ghent last spring.", Kind.EVENT),
        ("I got promoted in the depot!", Kind.EVENT),
        ("I just signed up for a welding course.", Kind.EVENT),
        ("I've learned that short naps make me slower.", Kind.LEARNING),
        ("All merges must be reviewed by two people.", Kind.CONSTRAINT),
        ("Please always answer in French.", Kind.CONSTRAINT),
        ("Never deploy on a Friday.", Kind.CONSTRAINT),
        ("The importer requires Python 3.11.", Kind.CONSTRAINT),
        ("To deploy, first run the tests, then tag the release, and finally push.", Kind.PROCEDURE),
        ('"Done" means deployed and watched for a day.', Kind.DEFINITION),
        ("SLO stands for service level objective.", Kind.DEFINITION),
    ],
)
def test_what_lasts_is_read_with_its_kind(text: str, kind: Kind) -> None:
    (extract,) = read(text)
    assert (extract.text, extract.quote, extract.kind, extract.turn) == (text, text, kind, 0)


@table(
    ("text", "kind"),
    [
        ("i'm vegan btw", Kind.PROFILE),
        ("hey just fyi i'm lactose intolerant", Kind.PROFILE),
        ("FYI I'm based in Toronto.", Kind.PROFILE),
        ("I'm 42.", Kind.PROFILE),
        ("I'm 5 foot 10.", Kind.PROFILE),
        ("I'm Priya.", Kind.PROFILE),
        ("I'm on Pacific time.", Kind.PROFILE),
        ("My blood type is O negative.", Kind.PROFILE),
        ("I majored in philosophy.", Kind.PROFILE),
        ("I'm the CTO of a small fintech startup.", Kind.PROFILE),
        ("I'm an only child.", Kind.PROFILE),
        ("I report to Helen Park.", Kind.PROFILE),
        ("My wife's birthday is March 14th.", Kind.FACT),
        ("Our anniversary is on October 3rd.", Kind.FACT),
        ("We're expecting our first child in September.", Kind.FACT),
        ("My manager is called Dolores.", Kind.FACT),
        ("My brother Tim is a pilot.", Kind.FACT),
        ("My kids go to Greenfield primary school.", Kind.FACT),
        ("Our daughter starts school in August.", Kind.FACT),
        ("We have a golden retriever called Biscuit.", Kind.FACT),
        ("My doctor put me on metformin.", Kind.FACT),
        ("My budget for the trip is 2,000 euros.", Kind.FACT),
        ("My laptop is a ThinkPad X1.", Kind.FACT),
        ("I'm scared of flying.", Kind.FACT),
        ("I don't have a driving licence.", Kind.FACT),
        ("My goal this year is to write a novel.", Kind.FACT),
        ("I need my answers to be short.", Kind.PREFERENCE),
        ("I'd like all my reports in British English.", Kind.PREFERENCE),
        ("I go to the gym on Tuesdays and Thursdays.", Kind.PATTERN),
        ("I take the 8:15 train to work.", Kind.PATTERN),
        ("I only drink decaf.", Kind.PATTERN),
        ("I always sit in the aisle seat.", Kind.PATTERN),
        ("we moved to Lisbon last month", Kind.EVENT),
        ("I turned 30 last week.", Kind.EVENT),
        ("my daughter Emma turns six in June", Kind.EVENT),
        ("We got engaged in Rome!", Kind.EVENT),
        ("I'm getting married next summer.", Kind.EVENT),
        ("I switched from Android to an iPhone last week.", Kind.EVENT),
        ("I inherited a house in Brittany.", Kind.EVENT),
        ("My flight leaves on 3 May at 7:45.", Kind.EVENT),
    ],
)
def test_what_people_tell_an_assistant_in_passing_is_read(text: str, kind: Kind) -> None:
    assert kinds(text) == [kind.value]


@table(
    ("text", "left"),
    [
        ("Remember that I take my coffee black.", "I take my coffee black."),
        ("Please remember I'm left-handed.", "I'm left-handed."),
        ("Hey, please remember that my knees are bad.", "My knees are bad."),
        ("Remember: my locker is number 12.", "My locker is number 12."),
        ("Note that I don't eat pork.", "I don't eat pork."),
        ("Don't forget that I have a flight to Oslo on Friday.", "I have a flight to Oslo on Friday."),
        ("Keep in mind that we share one car.", "We share one car."),
        ("I want you to know that I'm a widow.", "I'm a widow."),
        ("I'm allergic to penicillin, please note that.", "I'm allergic to penicillin"),
        ("I'm vegan, by the way.", "I'm vegan"),
    ],
)
def test_what_somebody_asks_to_be_remembered_of_them_is(text: str, left: str) -> None:
    (extract,) = read(text)
    assert extract.text == left


@table(
    ("text", "left"),
    [
        ("I'm Bob and I work as a nurse.", ["I'm Bob", "I work as a nurse."]),
        ("Remember that I'm Bob and my locker is number 12.", ["I'm Bob and my locker is number 12."]),
        ("I heard the news and I live in Rome.", []),
        ("If I win, I'm Bob and I work as a nurse.", []),
        ("I did it and I went home.", []),
        ("She's out and I'm Bob.", []),
    ],
)
def test_two_sentences_that_and_joins_are_read_each_if_both_are_of_the_speaker(text: str, left: list[str]) -> None:
    assert [one.text for one in read(text)] == left


@table(
    "text",
    [
        "Remember to send the file.",
        "Remember that movie we talked about?",
        "Remember me?",
        "Note that the function returns None.",
        "Note that I is the identity matrix.",
        "Don't forget to add tests.",
        "Don't forget the milk.",
        "Keep in mind the deadline.",
        "On another note, my little dudes got a tank!",
        "Please remember that if I'm late I'm vegan.",
        "Call me when you are done.",
        "Call me crazy, but that works.",
        "Pretend my name is Bob.",
        "Imagine I'm Bob.",
        "Let's say I live in Rome and I'm Bob.",
        "Yeah right, I just love being stuck in traffic.",
        "Oh great, I totally love Mondays.",
        "I'm Sorry.",
        "I'm Done!",
        "I'm in time.",
        "I'm looking for a good restaurant.",
        "I ran the tests and they passed.",
        "I always get an error every day.",
        "My question is about pandas.",
        "My code does not compile.",
        "I moved the file to the other folder.",
        "I deleted the branch.",
        "I'm trying to install numpy.",
        "You said I was a teacher.",
        "In my novel, I am a detective called Marlowe.",
    ],
)
def test_orders_small_talk_and_what_is_not_meant_is_left(text: str) -> None:
    assert read(text) == ()


@table(
    "text",
    [
        "I like that!",
        "I love it.",
        "I really like this one.",
        "I love how kind they are.",
        "I'd love to see the garden.",
        "I would like to know more about pensions.",
        "I must say the soup was good.",
        "I mean the other bus.",
        "It means a lot to me.",
        "That should be fun!",
        "First of all, congratulations!",
        "I need to go now.",
        "Sounds like a plan to me.",
        "Do I like tea?",
        "I like tea, right?",
        "If I liked tea I would buy some.",
        "I wish I lived in Rome.",
        "I don't know whether I'm allergic to nuts.",
        "My sister said I'm a good cook.",
        "She is a nurse.",
        "Tom lives in Paris.",
        "My boss thinks I'm a morning person.",
        "You are a nurse.",
        "I love your new hat.",
        "I'm a bit tired today.",
        "I'm allergic to Mondays lol",
        "I love spiders. Just kidding!",
        "I've had them for three years.",
        "I live there now.",
        "I work with her every day.",
        "I lately read some cool book.",
        "We both love old trams.",
        "You must be so happy!",
        "That must feel great.",
        "Winning must feel great.",
        "First I went home, then I slept.",
        "My password is hunter2.",
        "I use the PIN code 1234.",
        "Never mind.",
        "Always fun on a Sunday!",
        "Thanks, I appreciate it!",
    ],
)
def test_what_is_chat_or_doubt_or_of_others_is_left(text: str) -> None:
    assert read(text) == ()


@table(
    ("text", "left"),
    [
        ("Hey Jon! Well, I'm a vet.", "I'm a vet."),
        ("Yeah, Ana, I prefer trains.", "I prefer trains."),
        ("By the way, my name is Bo.", "My name is Bo."),
        ("So glad to hear! I live in Turin 🙂", "I live in Turin"),
        ("Guess what? I moved to Graz.", "I moved to Graz."),
        ("- I'm vegan", "I'm vegan"),
        ("I got a kitten - want to see her?", "I got a kitten"),
    ],
)
def test_a_memory_begins_where_the_statement_does(text: str, left: str) -> None:
    (extract,) = read(text)
    assert extract.text == left
    assert extract.quote.casefold() == left.casefold()


def test_the_name_of_the_speaker_before_the_words_is_no_part_of_them() -> None:
    (extract,) = read(ConversationTurn(text="Ana: I prefer window seats.", speaker="Ana"))
    assert extract.text == "I prefer window seats."


@table(
    "text",
    [
        "Bo: I prefer window seats.",
        "> I prefer window seats.",
        "```\nI prefer window seats.\n```",
        'He wrote: "Hello. I prefer window seats. Bye."',
        "[I prefer window seats.]",
        "<private>I prefer window seats.</private>",
        "<private>\nI prefer window seats.",
    ],
)
def test_what_others_wrote_and_what_is_private_is_not_read(text: str) -> None:
    assert read(ConversationTurn(text=text, speaker="Ana")) == ()


def test_one_statement_among_others_is_read_around_what_is_private() -> None:
    (extract,) = read("I'm a vet. <private>I'm allergic to cats.</private> So it goes.")
    assert extract.text == "I'm a vet."


@table("role", [Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
def test_what_a_model_or_a_tool_says_of_itself_is_nothing(role: Role) -> None:
    assert read(ConversationTurn(text="I love helping people. I live in a data centre.", role=role)) == ()


def test_a_rule_that_a_model_lays_down_is_implied() -> None:
    (extract,) = read(ConversationTurn(text="All merges must be reviewed by two people.", role=Role.ASSISTANT))
    assert (extract.kind, extract.confidence) == (Kind.CONSTRAINT, CONFIDENCE.implied)


@table("role", [Role.SYSTEM, Role.TOOL])
def test_a_rule_that_a_tool_or_a_system_brings_is_nothing(role: Role) -> None:
    assert read(ConversationTurn(text="All merges must be reviewed by two people.", role=role)) == ()


def test_a_procedure_of_several_sentences_is_one_memory_with_its_heading() -> None:
    text = "How to release:\nStep 1: run the tests.\nStep 2: tag the commit.\nFinally, push the tag.\nI'm a vet."
    procedure, profile = read(text)
    assert (procedure.kind, procedure.quote) == (Kind.PROCEDURE, text.removesuffix("\nI'm a vet."))
    assert profile.text == "I'm a vet."


def test_a_story_told_in_steps_is_no_procedure() -> None:
    assert "procedure" not in kinds("First, the bus was late. Then we missed the train. Finally, we walked.")


@table(
    ("text", "sure"),
    [
        ("I prefer trains.", CONFIDENCE.stated),
        ("I'm lucky to have a garden.", CONFIDENCE.implied),
        ("I think I prefer trains.", CONFIDENCE.uncertain),
        ("Maybe I prefer trains.", CONFIDENCE.uncertain),
        ("I'm probably a morning person.", CONFIDENCE.uncertain),
    ],
)
def test_how_sure_it_is_follows_from_how_it_was_said(text: str, sure: float) -> None:
    (extract,) = read(text)
    assert extract.confidence == sure


@table(
    ("text", "worth"),
    [
        ("I'm allergic to peanuts.", IMPORTANCE.critical),
        ("I work at a small bakery.", IMPORTANCE.business),
        ("I prefer trains.", IMPORTANCE.preference),
        ("I play the cello.", IMPORTANCE.casual),
        ("Family is very important to me.", IMPORTANCE.stated),
    ],
)
def test_what_it_is_worth_follows_from_the_rubric(text: str, worth: float) -> None:
    (extract,) = read(text)
    assert extract.importance == worth


def test_every_number_of_the_policies_reaches_the_extracts() -> None:
    importance = ImportancePolicy(stated=0.01, critical=0.02, business=0.03, preference=0.04, casual=0.05)
    confidence = ConfidencePolicy(stated=0.06, implied=0.07, uncertain=0.08)
    said = [
        ConversationTurn(
            text="Family is very important to me. I'm allergic to nuts. I work at a bakery. I prefer trains."
        ),
        ConversationTurn(text="I play the cello. I'm lucky to have a garden. I think I love rye bread."),
    ]
    read = extract_phrases(said, most=10, importance=importance, confidence=confidence)
    assert {one.importance for one in read} == {0.01, 0.02, 0.03, 0.04, 0.05}
    assert {one.confidence for one in read} == {0.06, 0.07, 0.08}


def test_of_too_many_the_weightiest_stay_in_the_order_in_which_they_were_said() -> None:
    turns = ["I play the cello.", "I prefer trains.", "I think I love rye bread.", "I'm allergic to nuts."]
    assert [one.turn for one in read(*turns, most=3)] == [1, 2, 3]
    assert [one.turn for one in read(*turns, most=2)] == [1, 3]
    assert [one.turn for one in read("I love tea.", "I love rye.", "I love figs.", most=2)] == [0, 1]


def test_what_is_said_twice_is_read_once_for_each_speaker() -> None:
    turns = [ConversationTurn(text="I love tea.", speaker=speaker) for speaker in ("Ana", "Bo", "Ana")]
    assert [one.turn for one in read(*turns)] == [0, 1]


def test_no_subject_is_given() -> None:
    assert [one.subject for one in read("My favourite colour is green.")] == [None]


SOUP = """
    I we my i'm I've love prefer must first then finally step 1 always never allergic to nuts a nurse is are it that,
    means decided went moved really and but so if said the kids every day Ana’s 🙂 … 日本 . ! ? - " : [ ] <private>
    </private> ``` >
"""
WORDS = st.sampled_from(SOUP.split())
CHATTER = st.lists(WORDS | st.just("\n"), max_size=40).map(" ".join)
TURNS = st.lists(
    st.builds(
        ConversationTurn,
        text=(CHATTER | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))).filter(str.strip),
        role=st.sampled_from(Role),
        speaker=st.none() | st.sampled_from(["Ana", "Bo"]),
    ),
    max_size=6,
)


@given(TURNS, st.integers(1, 12))
def test_any_conversation_gives_few_quotes_that_occur_in_order_and_always_the_same(
    turns: list[ConversationTurn], most: int
) -> None:
    extracts = read(*turns, most=most)
    assert len(extracts) <= most
    assert all(one.quote in turns[one.turn].text for one in extracts)
    assert [one.turn for one in extracts] == sorted(one.turn for one in extracts)
    assert len({(turns[one.turn].speaker, one.text) for one in extracts}) == len(extracts)
    assert extracts == read(*turns, most=most)


@table(
    "unit",
    [*'.I"[<-, \n!', "I ", ".)", "it ", "so, ", "and I ", "really ", "I love ", "step 1 ", "A: ", "```\n", "<private>"],
)
def test_a_long_text_of_the_same_ends(unit: str) -> None:
    assert len(read("x" + unit * (200_000 // len(unit)))) <= 10


@table(
    "sentence", ["I am a. ", "I love tea. ", "First, a. Then b. ", "I'm a a a a a ", "a some new ", ", I'm ", "I 1 a "]
)
def test_a_long_speech_ends(sentence: str) -> None:
    assert len(read(sentence * (100_000 // len(sentence)))) <= 10
