"""What a page shows of a search: hits, facets, memories, and how fresh the answer is."""
