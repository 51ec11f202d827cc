"""The shapes of answers, for OpenAPI and for the output schemas of MCP tools."""
