"""The fuzzing harness itself, and a short pass of it over every target."""
