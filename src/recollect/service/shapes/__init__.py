"""Shapes: how answers look, for OpenAPI and for the output schemas of tools; a module for each of operations."""
