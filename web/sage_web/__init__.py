"""The page: the library for people who look instead of type."""
