"""The words and vectors of memories, kept in step with the Markdown files."""
