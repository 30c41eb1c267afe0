"""What an agent remembers by itself: blocks that it edits, conversations, an archive and summaries, in a database."""
