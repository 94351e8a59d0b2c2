"""Parse pages (HTML, Markdown, reStructuredText, AsciiDoc, manual pages, notebooks, plain text, PDF) into sections with
anchors."""
