"""Parsers of documentation pages, which return sections with anchors.

Supported formats are HTML, Markdown, reStructuredText, AsciiDoc, manual pages, notebooks, plain text and PDF.
"""
