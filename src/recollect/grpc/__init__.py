"""The generated messages and stubs for gRPC clients are in `recollect.grpc.v1`."""
