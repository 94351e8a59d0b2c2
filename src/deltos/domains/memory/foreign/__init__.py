"""Memories of other programs as records that an import takes: what they keep, told in our words. Their texts are
redacted where all records are, in transfer.py."""
