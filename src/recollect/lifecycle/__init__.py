"""What to keep, merge and remove: this package decides and never acts."""
