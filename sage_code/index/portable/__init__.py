"""An index in one file: made on one machine, searched on another."""
