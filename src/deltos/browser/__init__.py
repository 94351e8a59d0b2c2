"""Rendering of JavaScript pages in a local Chromium without network access."""
