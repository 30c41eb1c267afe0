"""What does a change mean for those who review it, and how do they read it?"""
