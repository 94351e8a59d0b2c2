"""Rendering of web pages with JavaScript in a local Chromium without network access."""
