"""Reads the transcripts of coding agents: the files that a session read and changed, and the tokens that it used."""
