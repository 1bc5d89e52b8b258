"""Private data of a capture: what it holds."""
