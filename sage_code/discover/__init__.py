"""Finds the files of a project and reads them.

    listing.list_files(root, rules)         the folder → `SourceFile`s and, with a reason, `SkippedFile`s
    reading.read_source(root, file, rules)  one file → its text, or why it is skipped

The folder is hostile input: nothing in it is executed, no link is followed, no pipe is opened, and one bad
file or folder never ends a run.
"""
