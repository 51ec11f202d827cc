"""The operations that every transport serves, their schemas, and who may call them."""
