"""Repositories, packages and folders that were made to do harm."""
