"""What do memories look like on the disk: Markdown that people read, edit and share?"""
