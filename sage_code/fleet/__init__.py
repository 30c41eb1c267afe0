"""How are many repositories indexed, by many workers, into one table?"""
