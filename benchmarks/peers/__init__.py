"""recollect beside what one would pick instead: the same texts, the same vectors, one process after another."""
