"""Rendering of pages that need JavaScript in a local Chromium, which has no network access of its own."""
