"""Bytes of a page to sections with anchors: HTML, Markdown, reStructuredText, notebooks, plain text, PDF."""
