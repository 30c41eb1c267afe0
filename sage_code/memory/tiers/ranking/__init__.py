"""Orders the messages that an engine found for a question: what was asked, the signals of a message, their weights."""
