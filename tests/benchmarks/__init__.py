"""The benchmarks that have rules of their own: what they rename, count and call right."""
