"""The server: one process per store for HTTP, MCP and gRPC, with health, metrics and logs."""
