"""Values → words."""
