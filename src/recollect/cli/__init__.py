"""The command line: parse, call, render. A file has a command, or a few that belong together."""
