"""The operations over HTTP: a POST each, problems as in RFC 9457, and an OpenAPI document."""
