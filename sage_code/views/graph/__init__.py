"""What a page shows of the graph: neighbours of a definition, what breaks, uncommitted changes, the map's measures."""
