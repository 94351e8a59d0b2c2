"""The scenarios of the MCP conformance suite, run by `make conformance`."""
