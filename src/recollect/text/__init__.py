"""Language processing without I/O: tokens, names, dates, paraphrases and claims in texts."""
