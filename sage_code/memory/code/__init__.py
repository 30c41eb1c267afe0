"""Which code is a memory about, and does that code still say what it said?"""
