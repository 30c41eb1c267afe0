"""What lives as long as the server: live events, index runs, slow answers that are kept, changes that can be undone."""
