"""Parsers that convert documents to `ApiDescription` objects, with one module for each format."""
