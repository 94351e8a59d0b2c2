"""Review of a change: affected symbols, tests to run, callers that no longer fit, and breaking changes."""
