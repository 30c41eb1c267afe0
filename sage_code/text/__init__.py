"""Text by itself: its lexemes and tokens, what is masked in it and what is made visible."""
