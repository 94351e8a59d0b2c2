"""Parsers, one module per format; each turns a document into an `ApiDescription`."""
