"""What the code means to itself: definitions, references, impact, cycles."""
