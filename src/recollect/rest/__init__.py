"""The HTTP face: operations as POST, problems as RFC 9457 has them, and an OpenAPI document of both."""
