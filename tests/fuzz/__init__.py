"""The fuzzing harness, and a short run of it on every target."""
