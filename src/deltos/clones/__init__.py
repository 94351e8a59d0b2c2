"""Remote git repositories: their addresses, the guarded fetch, the folder of clones, and the files of a commit."""
