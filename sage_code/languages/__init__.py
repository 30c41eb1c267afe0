"""Which languages are there, how is a file's language detected, and what kinds of definitions do they have?"""
