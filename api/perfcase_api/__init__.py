"""The server: captures by ticket over HTTP. It holds no analysis; what it answers is what the command line answers."""

__version__ = "0.1.0"
