"""From the text of a file to the pieces that are embedded and found."""
