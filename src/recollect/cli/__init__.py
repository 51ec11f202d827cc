"""The command line: each module holds one command or a few that belong together."""
