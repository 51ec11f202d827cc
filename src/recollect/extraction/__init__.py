"""What a conversation leaves behind: turns in, extracts out."""
