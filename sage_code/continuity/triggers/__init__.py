"""Notices in a conversation that a checkpoint is due."""
