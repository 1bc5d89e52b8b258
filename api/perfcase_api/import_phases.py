"""The steps of an import, as its process names them and the page words them."""

from __future__ import annotations

PHASES = ("reading", "events", "threads, stacks and calls", "findings", "figures", "first page")
"""In their order. The first three are the importer's (perfcase-import), the others the server's."""
UNITS = ("ns", "questions")
"""What ``done`` and ``total`` of a step count: time of the recording, or questions of the first page."""
