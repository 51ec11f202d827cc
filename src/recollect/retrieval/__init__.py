"""Evidence for each memory that a question finds: BM25, vectors, neighboring turns and shared names."""
