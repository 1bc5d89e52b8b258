"""The command line: one file per command, one line each in COMMANDS."""
