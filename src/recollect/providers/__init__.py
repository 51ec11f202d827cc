"""Things that call a model: embedders, from nothing but hashing to one behind an address."""
