"""Which words of all that is known does an agent see? Summaries and contexts; nothing here knows a database."""
