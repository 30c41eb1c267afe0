"""Which words and vectors do the memories have, ready to be searched?"""
