"""Projects on disk: identity of projects, file listing, change detection, and incremental index updates."""
