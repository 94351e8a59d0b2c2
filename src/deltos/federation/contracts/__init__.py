"""Contracts between services: API operations, the handlers that implement them, and the client calls that use them."""
