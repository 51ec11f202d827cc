"""What others export, as drafts: one module a format."""
