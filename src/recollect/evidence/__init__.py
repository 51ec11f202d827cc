"""What a question finds in memories: words and directions in common."""
