"""The search page between requests: what an address asks for, links of facets, open searches, whose turn it is."""
