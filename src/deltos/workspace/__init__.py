"""Projects on disk: identity, file listing, change detection, and incremental index updates."""
