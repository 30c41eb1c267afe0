"""Text by itself: lexemes, tokens, masking of secrets, escaping of unseen characters, JSON."""
