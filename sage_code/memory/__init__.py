"""Memory: checkpoints and knowledge as Markdown files that people read and share, with search, recall and staleness."""
