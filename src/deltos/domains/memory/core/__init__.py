"""The memory service: observations, duplicates, anchors to code, export and import."""
