"""How is a language model asked for a summary, and what if it does not answer? Services over HTTP, and programs."""
