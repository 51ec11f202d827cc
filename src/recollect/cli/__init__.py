"""The command line: parse, call, render. One file per command."""
