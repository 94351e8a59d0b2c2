"""Type inference: evaluates the type expressions in a file's facts to types."""
