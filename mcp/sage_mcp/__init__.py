"""The MCP server: the library for agents."""
