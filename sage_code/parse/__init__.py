"""What does a file define and refer to, and where may it be cut?"""
