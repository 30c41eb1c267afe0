"""What keeps an agent's work when its context is compacted, its session ends, or another session goes on."""
