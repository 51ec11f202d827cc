"""Other people's APIs on our engine: one file each."""
