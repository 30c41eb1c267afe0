"""Checks every part that an answer depends on, and says how to repair what is broken."""
