"""Remote git repositories: URLs, restricted fetching, the folder of local clones, and the files of a commit."""
