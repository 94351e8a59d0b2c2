"""Parsers of pages (HTML, Markdown, reStructuredText, AsciiDoc, manual pages, notebooks, plain text, PDF), which return
sections with anchors."""
