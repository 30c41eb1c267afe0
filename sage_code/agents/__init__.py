"""Adds Sage to the configuration files of coding agents and removes it again, without touching anything else."""
