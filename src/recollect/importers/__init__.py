"""Read the exports of other programs as drafts: one module per format."""
