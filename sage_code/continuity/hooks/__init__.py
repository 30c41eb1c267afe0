"""The hooks of Claude Code: one program that notices, saves and brings back."""
