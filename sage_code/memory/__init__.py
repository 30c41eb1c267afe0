"""What was understood, kept: checkpoints and knowledge as Markdown that people read, found again when it matters."""
