"""Storage backends: every store fulfills the same contract."""
