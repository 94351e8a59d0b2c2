"""Review of a change: affected symbols, tests to run, broken callers and breaking changes."""
