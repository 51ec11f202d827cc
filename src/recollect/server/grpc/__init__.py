"""The operations over gRPC, one call each."""
