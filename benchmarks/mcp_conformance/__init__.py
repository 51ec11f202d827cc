"""The official conformance suite of MCP, run against the face over HTTP."""
