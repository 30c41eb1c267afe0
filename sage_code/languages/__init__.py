"""Which languages are there, how is a file's language told, and what kinds of definitions do they have?"""
