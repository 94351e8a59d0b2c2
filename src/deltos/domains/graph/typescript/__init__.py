"""Resolver for TypeScript and JavaScript."""
