"""The report: the first five minutes of an investigation, for a person to read.

Each section is a file with ``title`` and ``write(report)``, and one line in SECTIONS. It holds no analysis: every figure
comes from a view, and every block names the view it comes from, so that the reader can go on from there.
"""

from perfcase.report.writer import write_report

__all__ = ["write_report"]
