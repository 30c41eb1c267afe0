"""Sage in other people's configuration files: added without touching anything else, and taken out again."""
