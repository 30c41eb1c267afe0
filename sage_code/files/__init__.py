"""Files on the disk: replaced whole, locked, and never read or written outside of where they belong."""
