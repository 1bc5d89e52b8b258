"""Python's client of a server."""
