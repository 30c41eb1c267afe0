"""The files that people own: memories as Markdown, and the folders that hold them."""
