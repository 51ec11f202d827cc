"""Face: the server as the protocol sees it; it parses, asks and renders, and keeps nothing between two requests."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from mcp_types import Prompt as ToldPrompt
from mcp_types import Resource as ToldResource
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from recollect.api.auth import Caller
from recollect.api.error_log import fault
from recollect.api.problems import Code, Problem, problem_of
from recollect.errors import NotFound, RecollectError, remedy, show
from recollect.server.mcp import arguments, catalog, compact_results, resources, results
from recollect.server.mcp.catalog import Entry, Toolsets
from recollect.server.mcp.instructions import instructions
from recollect.server.mcp.operation_client import Ask, Asking
from recollect.server.mcp.prompts import PROMPTS, SCOPE, Prompt
from recollect.server.mcp.resources import RESOURCES, TEMPLATES, Resource
from recollect.version import __version__

NAME: Final = "mcp"
"""What this face is called where it is counted who asked."""

FRESH: Final = CacheHint(ttl_ms=300_000, scope="private")
"""How long a client may keep a list: it changes only with the key and the server."""

ODD_ID: Final = "the id is neither a text nor a whole number; nothing was done, so send it again with one that is"
"""What is said of a request that the SDK would take for a notification, do nothing for, and not answer."""

LEGACY_NOT_FOUND: Final = -32002
"""What a resource that is not there is to clients of the previous revision; the present one has no code for it."""

CODES: Mapping[Code, int] = {
    Code.INVALID: INVALID_PARAMS,
    Code.NOT_FOUND: INVALID_PARAMS,
    Code.TOO_LARGE: INVALID_PARAMS,
    Code.UNAUTHENTICATED: INVALID_REQUEST,
    Code.FORBIDDEN: INVALID_REQUEST,
    Code.CONFLICT: INVALID_REQUEST,
}
"""What a problem is as an error of the protocol; any other is a failure of the server."""

Context = ServerRequestContext[Any, Any]
Params = TypeVar("Params")
Told = TypeVar("Told")
Who = Callable[[Context], Caller]
"""Whose request it is."""

Beside = Callable[[Context, str, Mapping[str, Any]], Mapping[str, Any]]
"""What is given to an operation, with what a request says beside it."""

Refused = Callable[[str | None, Caller, RecollectError], object]
"""Whoever is told of a call that is refused before anything is asked; of which operation, if of any."""


class Face:
    """Answers the requests of the protocol for whoever sends them.

    `only` is who sends them all, where that is known before anybody does: then the instructions follow its rights.
    """

    def __init__(
        self,
        ask: Ask,
        who: Who,
        wanted: Toolsets,
        *,
        beside: Beside = lambda _, __, given: given,
        refused: Refused = lambda _, __, ___: None,
        only: Caller | None = None,
    ) -> None:
        self._ask, self._who, self._wanted, self._only = ask, who, wanted, only
        self._beside, self._refused = beside, refused

    def server(self) -> Server[Any]:
        """It as a server of the SDK, for any transport and both revisions."""
        return Server(
            "recollect",
            version=__version__,
            title="recollect",
            description="A memory for agents: it remembers, recalls, ranks and explains.",
            instructions=instructions(self._offered(self._only)),
            cache_hints={
                "tools/list": FRESH,
                "prompts/list": FRESH,
                "resources/list": FRESH,
                "resources/templates/list": FRESH,
            },
            get_tool_input_schema=_none_in_headers,
            on_list_tools=_guarded(self.list_tools),
            on_call_tool=_guarded(self.call_tool),
            on_list_resources=_guarded(self.list_resources),
            on_list_resource_templates=_guarded(self.list_templates),
            on_read_resource=_guarded(self.read_resource),
            on_list_prompts=_guarded(self.list_prompts),
            on_get_prompt=_guarded(self.get_prompt),
        )

    def _offered(self, caller: Caller | None) -> set[str]:
        """The names of the tools that a caller is offered; if it is not known who, those of the toolsets."""
        if caller is None:
            return set(catalog.in_toolsets(self._wanted))
        return {one.name for one in catalog.offered(self._wanted, caller)}

    async def list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        """The tools that the caller may use, always in the same order."""
        caller = self._who(context)
        return ListToolsResult(tools=[_tool(one, caller) for one in catalog.offered(self._wanted, caller)])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """What a tool gives, or the problem there is; that there is no such tool is an error of the protocol."""
        entry = catalog.in_toolsets(self._wanted).get(params.name)
        if entry is None:
            offered = catalog.offered(self._wanted, self._who(context))
            raise self._unknown("tool", params.name, [one.name for one in offered], context)
        return await _settled(self._answer(entry, params.arguments or {}, context))

    async def _answer(self, entry: Entry, said: Mapping[str, Any], context: Context) -> CallToolResult:
        caller = self._who(context)
        try:
            given, kept = compact_results.asked(entry.name, arguments.meant(entry, said))
            given = self._beside(context, entry.name, given)
        except RecollectError as error:
            self._refused(entry.name, caller, error)
            raise
        return results.told(entry.name, await self._ask(entry.name, given, caller), caller, kept)

    async def list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        """What has an address."""
        return ListResourcesResult(resources=[_resource(one) for one in RESOURCES.values()])

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """What has a template of addresses."""
        return ListResourceTemplatesResult(resource_templates=[_template(one) for one in TEMPLATES.values()])

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """What a resource says now."""
        asking = Asking(self._ask, self._who(context))
        found, text = await _told(resources.read(params.uri, asking), context, uri=params.uri)
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=found.type, text=text)])

    async def list_prompts(self, context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        """The prompts of which the caller may ask all that they ask, and is offered the tools that they tell of."""
        caller = self._who(context)
        offered = self._offered(caller)
        of_use = [one for one in PROMPTS.values() if one.is_of_use(caller, offered)]
        return ListPromptsResult(prompts=[_prompt(one, caller) for one in of_use])

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """A prompt as it is written now."""
        found = PROMPTS.get(params.name)
        if found is None:
            raise self._unknown("prompt", params.name, PROMPTS, context)
        asking = Asking(self._ask, self._who(context))
        text = await _told(found.written(asking, params.arguments or {}), context, name=params.name)
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=found.about, messages=[message])

    def _unknown(self, what: str, name: str, known: Iterable[str], context: Context) -> MCPError:
        """That there is no such thing; it is heard of without the name, which may say anything."""
        told = f"there is no {what} {show(name)}; {remedy(name, known)}"
        self._refused(None, self._who(context), NotFound(told))
        return MCPError(INVALID_PARAMS, told, {"name": name})


def _none_in_headers(_: str) -> None:
    """No argument of ours comes in a header as well, so there is no schema by which the SDK would have to look."""


async def _settled(answering: Awaitable[CallToolResult]) -> CallToolResult:
    """What comes of a call: whatever goes wrong is told to the model, and what should not is logged."""
    try:
        return await answering
    except RecollectError as error:
        return results.refused(problem_of(error))
    except Exception as error:  # the outermost door of a tool
        return results.refused(fault(NAME, error))


async def _told(asking: Awaitable[Any], context: Context, **about: str) -> Any:
    """What is asked for; what goes wrong is an error of the protocol, with the problem as its data."""
    try:
        return await asking
    except RecollectError as error:
        gone = isinstance(error, NotFound) and context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        raise _as_error(problem_of(error), LEGACY_NOT_FOUND if gone else None, **about) from error


def _guarded(handle: Callable[[Context, Params], Awaitable[Told]]) -> Callable[[Context, Params], Awaitable[Told]]:
    """The same, but nothing else leaves it than errors of the protocol: of any other the SDK would tell the words."""

    async def guarded(context: Context, params: Params) -> Told:
        try:
            return await handle(context, params)
        except MCPError:
            raise
        except RecollectError as error:
            raise _as_error(problem_of(error)) from error
        except Exception as error:  # the outermost door
            raise _as_error(fault(NAME, error)) from error

    return guarded


def _as_error(problem: Problem, code: int | None = None, **about: str) -> MCPError:
    """The problem as an error of the protocol, with what it is about."""
    number = CODES.get(problem.code, INTERNAL_ERROR) if code is None else code
    return MCPError(number, problem.message, {**problem.fields(), **about})


def _tool(entry: Entry, caller: Caller) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.about,
        input_schema=dict(entry.taken_from(caller)),
        output_schema=dict(entry.output),
        annotations=ToolAnnotations(
            title=entry.title,
            read_only_hint=entry.read_only,
            destructive_hint=entry.destructive,
            idempotent_hint=entry.repeatable,
            open_world_hint=False,
        ),
    )


def _resource(one: Resource) -> ToldResource:
    return ToldResource(uri=one.address, name=one.name, title=one.title, description=one.about, mime_type=one.type)


def _template(one: Resource) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=one.address, name=one.name, title=one.title, description=one.about, mime_type=one.type
    )


def _prompt(one: Prompt, caller: Caller) -> ToldPrompt:
    whose = catalog.whose(caller, one.right)
    takes = one.takes if whose is None else {**one.takes, SCOPE: f"{whose}."}
    return ToldPrompt(
        name=one.name,
        title=one.title,
        description=one.about,
        arguments=[
            PromptArgument(name=name, description=about, required=name != SCOPE or _must_say(one, caller))
            for name, about in takes.items()
        ],
    )


def _must_say(one: Prompt, caller: Caller) -> bool:
    """Whether whose memory it is has to be said."""
    return bool(one.asks) and caller.scope is None
