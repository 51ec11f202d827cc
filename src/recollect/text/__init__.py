"""Language: tokens, names, dates, paraphrases and statements, read from text without I/O."""
