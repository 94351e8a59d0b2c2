"""Remote git repositories: their URLs, restricted fetching, the folder of clones, and the files of a commit."""
