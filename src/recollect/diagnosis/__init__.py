"""The diagnosis: whether this installation can keep memories here, and what to do if it cannot."""
