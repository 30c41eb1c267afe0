"""Session continuity: what makes a session worth saving, and how it is taken up again."""
