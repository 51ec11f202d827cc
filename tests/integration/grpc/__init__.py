"""The gRPC face, asked over a socket."""
