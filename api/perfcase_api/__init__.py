"""The server: captures by ticket over HTTP. It holds no analysis; what it answers is what the command line answers."""
