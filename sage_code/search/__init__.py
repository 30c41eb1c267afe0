"""From a question to the code that answers it; `engine.py` reads as the query."""
