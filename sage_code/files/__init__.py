"""Files on the disk: replaced as a whole, locked, and never read or written outside of the folder they belong to."""
