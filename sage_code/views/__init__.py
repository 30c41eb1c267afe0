"""What a page shows of a project: each view is plain data, made from the index, the files and the memories."""
