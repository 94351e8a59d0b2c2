"""The memory service: observations, duplicates, code anchors, export and import."""
