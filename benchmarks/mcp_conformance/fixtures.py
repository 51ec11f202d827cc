"""The tools, resources and prompts that scenarios of the suite call, beside ours and through the same face."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
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
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)

from recollect.server.mcp.handlers import McpHandlers, RequestContext

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV: Final = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0"
).decode()
IMAGE: Final = ImageContent(data=PNG, mime_type="image/png")
NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def embedded(uri: str, text: str) -> EmbeddedResource:
    """A resource within an answer."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type="text/plain", text=text))


MIXED: list[ContentBlock] = [
    TextContent(text="Multiple content types test:"),
    IMAGE,
    EmbeddedResource(
        resource=TextResourceContents(
            uri="test://mixed-content-resource", mime_type="application/json", text='{"test": "data", "value": 123}'
        )
    ),
]
TOOLS: Mapping[str, CallToolResult] = {
    "test_simple_text": CallToolResult(content=[TextContent(text="This is a simple text response for testing.")]),
    "test_image_content": CallToolResult(content=[IMAGE]),
    "test_audio_content": CallToolResult(content=[AudioContent(data=WAV, mime_type="audio/wav")]),
    "test_embedded_resource": CallToolResult(
        content=[embedded("test://embedded-resource", "This is an embedded resource content.")]
    ),
    "test_multiple_content_types": CallToolResult(content=MIXED),
    "test_error_handling": CallToolResult(
        content=[TextContent(text="This tool intentionally returns an error for testing")], is_error=True
    ),
    "json_schema_2020_12_tool": CallToolResult(content=[TextContent(text="as the schema says")]),
}
PROMPTS: Mapping[str, Prompt] = {
    one.name: one
    for one in (
        Prompt(name="test_simple_prompt", description="A prompt without arguments"),
        Prompt(
            name="test_prompt_with_arguments",
            description="A prompt with two",
            arguments=[PromptArgument(name="arg1", required=True), PromptArgument(name="arg2", required=True)],
        ),
        Prompt(
            name="test_prompt_with_embedded_resource",
            description="A prompt with a resource",
            arguments=[PromptArgument(name="resourceUri", required=True)],
        ),
        Prompt(name="test_prompt_with_image", description="A prompt with an image"),
    )
}


class Fixtures(McpHandlers):
    """Our face with what the suite calls beside what it has."""

    def create_server(self) -> Server[Any]:
        """It as a server, which completes arguments too."""
        made = super().create_server()
        made.add_request_handler("completion/complete", CompleteRequestParams, _complete)
        return made

    async def list_tools(self, context: RequestContext, page: PaginatedRequestParams | None) -> ListToolsResult:
        """Ours, and those of the suite."""
        ours = await super().list_tools(context, page)
        theirs = [
            Tool(name=name, description="A fixture", input_schema=dict(SCHEMA if "schema" in name else NOTHING))
            for name in TOOLS
        ]
        return ListToolsResult(tools=[*ours.tools, *theirs])

    async def call_tool(self, context: RequestContext, params: CallToolRequestParams) -> CallToolResult:
        """What the suite expects of its own, or what ours give."""
        found = TOOLS.get(params.name)
        return await super().call_tool(context, params) if found is None else found

    async def list_resources(self, context: RequestContext, page: PaginatedRequestParams | None) -> ListResourcesResult:
        """Ours, and those of the suite."""
        ours = await super().list_resources(context, page)
        theirs = [Resource(uri=f"test://static-{name}", name=name) for name in ("text", "binary")]
        return ListResourcesResult(resources=[*ours.resources, *theirs])

    async def list_templates(
        self, context: RequestContext, page: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Ours, and that of the suite."""
        ours = await super().list_templates(context, page)
        theirs = ResourceTemplate(
            uri_template="test://template/{id}/data", name="template", mime_type="application/json"
        )
        return ListResourceTemplatesResult(resource_templates=[*ours.resource_templates, theirs])

    async def read_resource(self, context: RequestContext, params: ReadResourceRequestParams) -> ReadResourceResult:
        """What the suite expects at its own addresses, or what is at ours."""
        uri = params.uri
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
            return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="text/plain", text=text)])
        if uri == "test://static-binary":
            return ReadResourceResult(contents=[BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)])
        if uri.startswith("test://template/"):
            text = f'{{"id": "{uri.split("/")[3]}", "templateTest": true, "data": "Data for ID: {uri.split("/")[3]}"}}'
            return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="application/json", text=text)])
        return await super().read_resource(context, params)

    async def list_prompts(self, context: RequestContext, page: PaginatedRequestParams | None) -> ListPromptsResult:
        """Ours, and those of the suite."""
        ours = await super().list_prompts(context, page)
        return ListPromptsResult(prompts=[*ours.prompts, *PROMPTS.values()])

    async def get_prompt(self, context: RequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        """What the suite expects of its own, or what ours say."""
        given = params.arguments or {}
        match params.name:
            case "test_simple_prompt":
                return _said(TextContent(text="This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                told = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
                return _said(TextContent(text=told))
            case "test_prompt_with_embedded_resource":
                resource = embedded(given.get("resourceUri", ""), "Embedded resource content for testing.")
                return _said(resource, TextContent(text="Please process the embedded resource above."))
            case "test_prompt_with_image":
                return _said(IMAGE, TextContent(text="Please analyze the image above."))
            case _:
                return await super().get_prompt(context, params)


async def _complete(_: RequestContext, __: CompleteRequestParams) -> CompleteResult:
    return CompleteResult(completion=Completion(values=["paris", "park", "party"], total=3, has_more=False))


def _said(*content: ContentBlock) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=one) for one in content])
