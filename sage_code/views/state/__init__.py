"""What a page shows of the state of things: health, what has changed since, and what is made in a child process."""
