"""The pages, a module each: it reads a request, asks the library and fills templates."""
