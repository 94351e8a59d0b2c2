"""Malicious repositories, packages and folders."""
