"""Where memories are kept: each store keeps the same contract."""
