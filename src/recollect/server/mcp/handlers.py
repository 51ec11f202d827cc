"""MCP request handlers: parse arguments, run operations, render results and errors.

They keep nothing between two requests.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
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
    Prompt,
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
from mcp_types import Resource as McpResource
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json

from recollect.api.auth import Caller
from recollect.api.problems import Problem, ProblemCode, log_internal_error, problem_of
from recollect.errors import NotFound, RecollectError, show, suggest
from recollect.model.validation import expand_day
from recollect.server.mcp import catalog, resources
from recollect.server.mcp.catalog import FieldSelection, ToolEntry, Toolsets
from recollect.server.mcp.resources import (
    PROMPTS,
    RESOURCES,
    SCOPE_ARGUMENT,
    TEMPLATES,
    OperationClient,
    PromptTemplate,
    RunOperation,
    build_instructions,
    render_context,
    to_json_line,
)
from recollect.version import __version__

TRANSPORT: Final = "mcp"
"""Name of this transport in metrics and logs."""

LIST_CACHE: Final = CacheHint(ttl_ms=300_000, scope="private")
"""How long a client may cache a list: it changes only with the key and the server."""

INVALID_ID_MESSAGE: Final = (
    "the id is neither a string nor an integer; nothing was done, so send the request again with a valid id"
)
"""Error for a request that the SDK would take for a notification and never answer."""

LEGACY_NOT_FOUND_CODE: Final = -32002
"""Code of a missing resource in the previous revision of MCP; the present one has none."""

JSONRPC_CODES: Mapping[ProblemCode, int] = {
    ProblemCode.INVALID: INVALID_PARAMS,
    ProblemCode.NOT_FOUND: INVALID_PARAMS,
    ProblemCode.TOO_LARGE: INVALID_PARAMS,
    ProblemCode.UNAUTHENTICATED: INVALID_REQUEST,
    ProblemCode.FORBIDDEN: INVALID_REQUEST,
    ProblemCode.CONFLICT: INVALID_REQUEST,
}
"""The JSON-RPC code of each problem; any other problem is an internal error."""

RequestContext = ServerRequestContext[Any, Any]
Params = TypeVar("Params")
Result = TypeVar("Result")
IdentifyCaller = Callable[[RequestContext], Caller]
"""Return the caller of a request."""

AddRequestMetadata = Callable[[RequestContext, str, Mapping[str, Any]], Mapping[str, Any]]
"""Return the arguments of an operation with what the request sends beside them."""

RefusalListener = Callable[[str | None, Caller, RecollectError], object]
"""Called when a call is refused before it runs, with the operation's name if it is known."""


class McpHandlers:
    """Handles the requests of the protocol.

    `only_caller` is the caller of all requests if there is just one; the instructions then follow its rights.
    """

    def __init__(
        self,
        run_operation: RunOperation,
        identify_caller: IdentifyCaller,
        toolsets: Toolsets,
        *,
        add_metadata: AddRequestMetadata = lambda _, __, given: given,
        on_refusal: RefusalListener = lambda _, __, ___: None,
        only_caller: Caller | None = None,
    ) -> None:
        self._run_operation, self._identify_caller, self._toolsets, self._only_caller = (
            run_operation,
            identify_caller,
            toolsets,
            only_caller,
        )
        self._add_metadata, self._on_refusal = add_metadata, on_refusal

    def create_server(self) -> Server[Any]:
        """Return a server of the SDK, for any transport and both revisions of MCP."""
        return Server(
            "recollect",
            version=__version__,
            title="recollect",
            description="A memory for agents: it remembers, recalls, ranks and explains.",
            instructions=build_instructions(self._list_offered_tools(self._only_caller)),
            cache_hints={
                "tools/list": LIST_CACHE,
                "prompts/list": LIST_CACHE,
                "resources/list": LIST_CACHE,
                "resources/templates/list": LIST_CACHE,
            },
            get_tool_input_schema=_no_header_arguments,
            on_list_tools=_guard(self.list_tools),
            on_call_tool=_guard(self.call_tool),
            on_list_resources=_guard(self.list_resources),
            on_list_resource_templates=_guard(self.list_templates),
            on_read_resource=_guard(self.read_resource),
            on_list_prompts=_guard(self.list_prompts),
            on_get_prompt=_guard(self.get_prompt),
        )

    def _list_offered_tools(self, caller: Caller | None) -> set[str]:
        """Return the names of the caller's tools; of all chosen tools if it is unknown."""
        if caller is None:
            return set(catalog.select_tools(self._toolsets))
        return {one.name for one in catalog.list_allowed_tools(self._toolsets, caller)}

    async def list_tools(self, context: RequestContext, _: PaginatedRequestParams | None) -> ListToolsResult:
        """Return the tools that the caller may use, always in the same order."""
        caller = self._identify_caller(context)
        return ListToolsResult(
            tools=[_to_tool(one, caller) for one in catalog.list_allowed_tools(self._toolsets, caller)]
        )

    async def call_tool(self, context: RequestContext, params: CallToolRequestParams) -> CallToolResult:
        """Run a tool and return its answer or problem.

        An unknown tool is an error of the protocol.
        """
        entry = catalog.select_tools(self._toolsets).get(params.name)
        if entry is None:
            offered = catalog.list_allowed_tools(self._toolsets, self._identify_caller(context))
            raise self._unknown_name_error("tool", params.name, [one.name for one in offered], context)
        return await _to_tool_result(self._run_tool(entry, params.arguments or {}, context))

    async def _run_tool(self, entry: ToolEntry, sent: Mapping[str, Any], context: RequestContext) -> CallToolResult:
        caller = self._identify_caller(context)
        try:
            arguments, selection = catalog.split_explain(entry.name, normalize_arguments(entry, sent))
            arguments = self._add_metadata(context, entry.name, arguments)
        except RecollectError as error:
            self._on_refusal(entry.name, caller, error)
            raise
        return tool_result(entry.name, await self._run_operation(entry.name, arguments, caller), caller, selection)

    async def list_resources(self, _: RequestContext, __: PaginatedRequestParams | None) -> ListResourcesResult:
        """Return the resources with an address of their own."""
        resources = [
            McpResource(uri=one.address, name=one.name, title=one.title, description=one.about, mime_type=one.type)
            for one in RESOURCES.values()
        ]
        return ListResourcesResult(resources=resources)

    async def list_templates(self, _: RequestContext, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """Return the resources with a template of addresses."""
        templates = [
            ResourceTemplate(
                uri_template=one.address, name=one.name, title=one.title, description=one.about, mime_type=one.type
            )
            for one in TEMPLATES.values()
        ]
        return ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(self, context: RequestContext, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the present text of a resource."""
        client = OperationClient(self._run_operation, self._identify_caller(context))
        resource, text = await _translate_errors(resources.read_resource(params.uri, client), context, uri=params.uri)
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=resource.type, text=text)])

    async def list_prompts(self, context: RequestContext, _: PaginatedRequestParams | None) -> ListPromptsResult:
        """Return the prompts whose operations and tools the caller may use."""
        caller = self._identify_caller(context)
        offered = self._list_offered_tools(caller)
        available = [one for one in PROMPTS.values() if one.is_available(caller, offered)]
        return ListPromptsResult(prompts=[_to_prompt(one, caller) for one in available])

    async def get_prompt(self, context: RequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        """Return a prompt with its present text."""
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise self._unknown_name_error("prompt", params.name, PROMPTS, context)
        client = OperationClient(self._run_operation, self._identify_caller(context))
        text = await _translate_errors(prompt.render(client, params.arguments or {}), context, name=params.name)
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=prompt.about, messages=[message])

    def _unknown_name_error(self, kind: str, name: str, known: Iterable[str], context: RequestContext) -> MCPError:
        """Return the error for an unknown name, and report the refusal.

        The name can be any text, so logs and metrics get only the code of the refusal.
        """
        message = f"unknown {kind} {show(name)}; {suggest(name, known)}"
        self._on_refusal(None, self._identify_caller(context), NotFound(message))
        return MCPError(INVALID_PARAMS, message, {"name": name})


def _no_header_arguments(_: str) -> None:
    """Return no schema: the SDK needs one only for arguments that are sent as headers."""


async def _to_tool_result(call: Awaitable[CallToolResult]) -> CallToolResult:
    """Return the result of a call; every error becomes one that the model reads.

    Unexpected errors are logged.
    """
    try:
        return await call
    except RecollectError as error:
        return tool_error(problem_of(error))
    except Exception as error:  # the outermost boundary of a tool
        return tool_error(log_internal_error(TRANSPORT, error))


async def _translate_errors(request: Awaitable[Any], context: RequestContext, **data: str) -> Any:
    """Return the result; raise a RecollectError as an error of the protocol, with the problem as data."""
    try:
        return await request
    except RecollectError as error:
        is_legacy = isinstance(error, NotFound) and context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        raise _to_mcp_error(problem_of(error), LEGACY_NOT_FOUND_CODE if is_legacy else None, **data) from error


def _guard(
    handle: Callable[[RequestContext, Params], Awaitable[Result]],
) -> Callable[[RequestContext, Params], Awaitable[Result]]:
    """Wrap a handler so that it raises only errors of the protocol.

    Of any other error the SDK would send the message.
    """

    async def run_handler(context: RequestContext, params: Params) -> Result:
        try:
            return await handle(context, params)
        except MCPError:
            raise
        except RecollectError as error:
            raise _to_mcp_error(problem_of(error)) from error
        except Exception as error:  # the outermost boundary
            raise _to_mcp_error(log_internal_error(TRANSPORT, error)) from error

    return run_handler


def _to_mcp_error(problem: Problem, code: int | None = None, **data: str) -> MCPError:
    """Return the problem as an error of the protocol; `about` adds to its data."""
    number = JSONRPC_CODES.get(problem.code, INTERNAL_ERROR) if code is None else code
    return MCPError(number, problem.message, {**problem.fields(), **data})


def _to_tool(entry: ToolEntry, caller: Caller) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.about,
        input_schema=dict(entry.input_for(caller)),
        output_schema=dict(entry.output),
        annotations=ToolAnnotations(
            title=entry.title,
            read_only_hint=entry.read_only,
            destructive_hint=entry.destructive,
            idempotent_hint=entry.repeatable,
            open_world_hint=False,
        ),
    )


def _to_prompt(one: PromptTemplate, caller: Caller) -> Prompt:
    scope_hint = catalog.describe_scope(caller, one.right)
    needs_scope = bool(one.operations) and caller.scope is None
    arguments = one.arguments if scope_hint is None else {**one.arguments, SCOPE_ARGUMENT: f"{scope_hint}."}
    return Prompt(
        name=one.name,
        title=one.title,
        description=one.about,
        arguments=[
            PromptArgument(name=name, description=about, required=name != SCOPE_ARGUMENT or needs_scope)
            for name, about in arguments.items()
        ],
    )


def normalize_arguments(entry: ToolEntry, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the usual mistakes of models corrected.

    Null counts as absent, JSON may be sent as text, and a day stands for its beginning. Text is read as JSON only where
    the tool takes no text; text that is not JSON stays as it is and is refused later.
    """
    return {
        name: _expand_days(entry.moments, name, _parse_json(value) if name in entry.no_texts else value)
        for name, value in arguments.items()
        if value is not None
    }


def _expand_days(moments: Collection[str], place: str, value: Any) -> Any:
    """Return the value with each day replaced by its beginning where a timestamp is expected."""
    match value:
        case str() if place in moments:
            return expand_day(value)
        case list() if any(one.startswith(f"{place}.") for one in moments):
            return [_expand_days(moments, place, one) for one in value]
        case dict() if any(one.startswith(f"{place}.") for one in moments):
            return {name: _expand_days(moments, f"{place}.{name}", one) for name, one in value.items()}
        case _:
            return value


def _parse_json(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        value = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError for a lone surrogate
        return text
    return text if value is None else value


TEXT_TOOLS: Final = frozenset({"recall", "brief"})
"""Tools whose answer has a text that is ready for a model."""


def tool_result(
    name: str, answer: Mapping[str, Any], caller: Caller, selection: FieldSelection | None
) -> CallToolResult:
    """Return the answer as JSON, and as text that a model can use at once.

    With `selection`, the JSON is compact: only these fields, and counts of what was left out. If there is no ready
    text, the text is the same JSON.
    """
    fields = dict(answer) if selection is None else catalog.compact_answer(selection, answer)
    texts = render_context(answer, caller) if name in TEXT_TOOLS else [to_json_line(fields)]
    return CallToolResult(content=[TextContent(text=one) for one in texts], structured_content=fields)


def tool_error(problem: Problem) -> CallToolResult:
    """Return the problem as an error for a model to act on."""
    fields = problem.fields()
    return CallToolResult(content=[TextContent(text=to_json_line(fields))], structured_content=fields, is_error=True)
