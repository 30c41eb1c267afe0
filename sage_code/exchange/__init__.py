"""What do other tools know about a project, and what do they take from Sage?"""
