"""Adapters for agent frameworks, one module each; every framework is an extra."""
