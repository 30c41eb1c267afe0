"""`sage serve`: the tools for agents and the page behind one port, for many users."""
