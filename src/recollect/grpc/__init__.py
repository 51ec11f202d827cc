"""The gRPC face: parse, ask, render."""
