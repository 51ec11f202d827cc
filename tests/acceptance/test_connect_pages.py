"""What the pages on connecting show over HTTP and gRPC does what they say."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.architecture.markdown import Page
from tests.architecture.source import ROOT
from tests.integration.grpc.serving import a_place, a_stub, called

from .at_home import TOKEN, WAYS, asked, served
from .shell import Shell

GUIDES = ROOT / "docs" / "how-to"
SERVE, SEEDS, GRPC = (Page.read(GUIDES / name) for name in ("serve.md", "use-the-seed-apis.md", "use-over-grpc.md"))


def lines(page: Page) -> Iterator[str]:
    """Every command of curl in a page that shows the token."""
    for block in page.blocks("text"):
        for line in re.findall(r"^curl (?:.*\\\n)*.*", "\n".join(block), re.MULTILINE):
            if TOKEN in line:
                yield line


@pytest.mark.parametrize("way", WAYS)
def test_what_the_pages_ask_with_curl_is_answered(way: str, tmp_path: Path) -> None:
    with served("recollect --db ~/recollect.db serve", tmp_path) as url:
        remembered, recalled, saved = (
            asked(line, way, url, tmp_path) for page in (SERVE, SEEDS) for line in lines(page)
        )
    assert remembered["verdict"] == "created"
    assert "Ana prefers window seats" in recalled["text"]
    assert saved["outcome"] == "created"


def test_the_list_of_keys_is_shown_as_it_is_printed(tmp_path: Path) -> None:
    shown = SERVE.section("Give out keys").split("\n")
    add = next(line for line in shown if line.startswith("recollect keys add")).split()[1:]
    heads, row = shown[shown.index("recollect keys list") + 1 :][:2]
    shell = Shell(tmp_path / "none.db")
    shell(*add, HOME=str(tmp_path), XDG_CONFIG_HOME="")
    printed = re.sub(r"\x1b\[\d+m", "", shell.terminal("keys", "list", HOME=str(tmp_path), XDG_CONFIG_HOME="")).split(
        "\n"
    )
    assert printed[0].split() == heads.split()
    varies = r"\b[0-9a-f]{12}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
    assert re.sub(varies, "", printed[1]).rstrip() == re.sub(varies, "", row).rstrip()


def test_a_problem_over_grpc_is_read_and_none_where_no_server_answers() -> None:
    shown: dict[str, Any] = {}
    exec(GRPC.code("python"), shown)  # noqa: S102  # it is our own page
    with pytest.raises(grpc.RpcError) as nowhere:
        shown["seat_for_ana"]("127.0.0.1:1", "key")
    assert shown["problem_of"](nowhere.value) is None
    with a_place() as place, a_stub(place) as memory, pytest.raises(grpc.RpcError) as refused:
        memory.Recall(shown["messages"].RecallRequest(scope="acme/ana", query="seat"), **called("no key"))
    assert shown["problem_of"](refused.value).code == "unauthenticated"
