"""Finds the code that answers a query; `engine.py` lists the steps."""
