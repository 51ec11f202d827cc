"""The APIs of the designs that recollect implements, each on a profile of its ranking."""
