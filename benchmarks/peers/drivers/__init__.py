"""One driver a peer: how memories are given to it and asked of it. Each runs in the peer's own environment."""
