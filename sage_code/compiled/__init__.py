"""The compiled files of a project, which answer in milliseconds: symbol files and the search snapshot.

They are made from the store and can be deleted at any time. This file imports nothing, because `sage grep` imports it.
"""
