"""What is going on in a stream of messages, and who takes part in it? Summaries and profiles that keep themselves."""
