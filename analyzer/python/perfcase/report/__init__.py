"""The report: the first five minutes of an investigation, for a person to read.

Each section is a file with ``TITLE`` and ``write(page)``, and one line in SECTIONS. It holds no analysis: every figure comes
from a view, and every block names the view that it comes from, so that the reader can go on from there. A page gathers the blocks
(``document``); ``printer`` prints them, and others make HTML and JSON of them.
"""
