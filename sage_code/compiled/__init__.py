"""What a project needs to answer in milliseconds: symbol files and the search snapshot.

Everything here is derived from the store and can be deleted at any time. This file imports nothing, because
`sage grep` passes through it.
"""
