"""Evidence for each memory: BM25, vectors, context of earlier turns and shared names."""
