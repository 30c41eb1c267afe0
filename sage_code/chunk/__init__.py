"""Cuts the text of a file into chunks: the pieces that are embedded and found."""
