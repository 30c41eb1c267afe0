"""Is everything between a question and its answer as it should be, and if not, what mends it?"""
