"""Shapes: how answers look, for OpenAPI and the output schemas of tools; each module is of the operations of its name."""
