"""What a page shows of agents' memory: blocks, passages, people, channels, and what was said."""
