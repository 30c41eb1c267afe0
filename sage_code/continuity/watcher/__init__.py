"""The watcher: a process of the user's that sees compactions in transcripts, for agents without hooks.

sessions.py     which files are transcripts, and whose
reading.py      new lines of a transcript → compactions
events.py       what has happened
plugins.py      event → actions (`plugins.yaml`)
actions.py      runs actions, from a fixed list
recovery.py     the child process that saves a checkpoint
daemon.py       the loop around all of it
process.py      one process for a user: start, stop, status
journal.py      the log, and what `status` shows
service_units.py  files for systemd and launchd
"""
