"""What a page shows of a file: coloured lines, names with links, memories in the margin, the folders around it."""
