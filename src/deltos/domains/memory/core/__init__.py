"""Core of memory: observations, duplicates, anchors (links to code), export and import."""
