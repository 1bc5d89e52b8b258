"""The summary for a ticket: the report's sections on one page that needs nothing else, as HTML or as Markdown.

It computes nothing: the sections are the report's own, the findings are the view ``finding``, the pictures are flame graphs.
"""

from perfcase.summary.html import write_html
from perfcase.summary.markdown import write_markdown

__all__ = ["write_html", "write_markdown"]
