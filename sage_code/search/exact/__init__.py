"""Searches for exact text and regular expressions: `sage search --exact` and `--regex`."""
