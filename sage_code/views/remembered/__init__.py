"""What a page shows of memories: lists, one of them with its code then and now, the stale ones as work."""
