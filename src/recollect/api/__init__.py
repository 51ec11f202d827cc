"""The operations that every transport serves, their schemas, and authorization."""
