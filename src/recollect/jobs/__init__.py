"""Jobs: what is done to a whole store by itself, when, and that it is done once."""
