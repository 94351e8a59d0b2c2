"""Repositories fetched from elsewhere: addresses, the guarded fetch, the folder that keeps them, their files."""
