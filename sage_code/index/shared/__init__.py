"""Index once, use everywhere: CI publishes the index of a commit, signed; others fetch it instead of making it."""
