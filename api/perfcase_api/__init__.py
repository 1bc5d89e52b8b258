"""The server: captures by ticket over HTTP. It has no analysis of its own, and returns what the command line prints."""
