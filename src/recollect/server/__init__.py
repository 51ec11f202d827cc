"""The server: one process that speaks HTTP, MCP and gRPC for one store, and looks after it."""
