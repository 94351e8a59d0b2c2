"""What was learned, kept between sessions."""
