"""The reference of the Python API is complete and right: every public name, and every signature as it is."""

import dataclasses
import inspect
import re
from collections.abc import Callable
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import recollect
from recollect.engine.edit import Revision
from recollect.engine.episodes import Episodes
from recollect.engine.groups import Admin, Contexts, Items, Timeline, Topics
from recollect.engine.sessions import Sessions
from recollect.packing.tokens import Estimate
from tests.tables import table

from .markdown import Page, unsaid
from .source import ROOT

REFERENCE = Page.read(ROOT / "docs" / "reference" / "api.md")
SIGNATURE = re.compile(r"^([\w.]+)\(((?:(?!\)\.)[^…])*?)\)(?: -> [^\n]+)?$", re.MULTILINE | re.DOTALL)
ENGINE, SEEDS = "Engine", "The seeds' own APIs"


def blocks(section: str) -> list[tuple[str, str]]:
    """The names and the arguments of the signatures that stand in the section, each on lines of its own."""
    return [(name, arguments) for name, arguments in SIGNATURE.findall(section)]


def signatures() -> list[tuple[str, str]]:
    """Every signature of the page: the name by which `recollect` has it, and its arguments as written."""
    engine = REFERENCE.section(ENGINE)
    methods = [(f"{ENGINE}.{name}", arguments) for name, arguments in blocks(engine)]
    others = blocks(REFERENCE.text().replace(engine, ""))
    inline = blocks("\n".join(re.findall(r"`([^`\n]+)`", REFERENCE.section(SEEDS))))
    return [*methods, *others, *inline]


GROUPS = (Episodes, Sessions, Timeline, Topics, Contexts, Items, Admin)


def _public() -> dict[str, Any]:
    """Everything that the page gives a signature: public names, and the groups of an engine."""
    modules = (recollect, recollect.types, recollect.compat)
    names = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {**names, **{group.__name__: group for group in GROUPS}}


def written(arguments: str) -> list[inspect.Parameter]:
    """The parameters of a signature as it is written."""
    stub = eval(f"(lambda {arguments}: None)", {**_public(), "Estimate": Estimate})  # noqa: S307  # our own page
    return list(inspect.signature(stub).parameters.values())


def actual(thing: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that it has, without their types; those that are passed on are listed in their place."""
    found = [one.replace(annotation=one.empty) for one in inspect.signature(thing).parameters.values()]
    if thing is recollect.Engine.revise:
        passed_on = [one for one in inspect.signature(Revision).parameters.values() if one.name != "text"]
        found[-1:] = [one.replace(annotation=one.empty, kind=one.KEYWORD_ONLY) for one in passed_on]
    made = (
        {one.name: one.default_factory for one in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else {}
    )
    fresh = {name: make() for name, make in made.items() if make is not dataclasses.MISSING}
    known = [one.replace(default=fresh[one.name]) if one.name in fresh else one for one in found]
    return [one for one in known if one.name != "self"]


def test_every_public_name_is_in_the_table_at_the_top() -> None:
    table = REFERENCE.text().partition("\n## ")[0]
    assert unsaid(table, [*recollect.__all__, *recollect.types.__all__, *recollect.compat.__all__]) == []


@table(("name", "arguments"), signatures(), ids=[name for name, _ in signatures()])
def test_a_signature_in_the_reference_is_the_one_in_the_code(name: str, arguments: str) -> None:
    assert written(arguments) == actual(attrgetter(name)(SimpleNamespace(**_public())))


def test_every_public_function_and_every_method_of_an_engine_has_its_signature_there() -> None:
    functions = {name for name in recollect.__all__ if inspect.isfunction(getattr(recollect, name))}
    methods = {
        f"{of.__name__}.{name}"
        for of in (recollect.Engine, *GROUPS)
        for name, _ in inspect.getmembers(of, inspect.isfunction)
    }
    public = {name for name in functions | methods if "._" not in name}
    assert public - {name for name, _ in signatures()} == set()


def test_every_property_of_an_engine_is_explained() -> None:
    for of in (recollect.Engine, Admin):
        found = inspect.getmembers(of, lambda thing: isinstance(thing, property))
        assert unsaid(REFERENCE.section(of.__name__), [name for name, _ in found if not name.startswith("_")]) == []


def test_a_signature_is_read_over_several_lines_and_no_other_code_is_taken_for_one() -> None:
    text = "open(target, *,\n     profile='default') -> Engine\nDraft(*, text, …)\nwhy\nSee open(target).\n"
    assert blocks(text) == [("open", "target, *,\n     profile='default'")]
    assert written("target, *, profile='default'") != written("target, *, profile='session'")
    assert written("target, *, profile='default'") != written("target, profile='default'")
