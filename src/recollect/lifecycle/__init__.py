"""What to keep, merge and let go; it decides and never acts."""
