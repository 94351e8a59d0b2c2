"""Present hits as text and structured data: current source lines, excerpts and summaries."""
