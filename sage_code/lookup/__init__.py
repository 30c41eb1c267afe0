"""Looks code up without a query: definitions, outlines, the map of a project, similar chunks."""
