"""Parsers of documentation pages, which return sections with anchors.

Supported formats are HTML, Markdown, reStructuredText, AsciiDoc, manual pages, Texinfo, notebooks, plain text and PDF.
"""
