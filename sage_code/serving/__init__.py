"""Who may ask over HTTP: tokens, the guard of every request, listening sockets and connections that end."""
