"""What can be set, where is it written, and which value applies?"""
