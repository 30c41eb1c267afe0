"""What do compilers know about references? The SCIP format, and the overlay that keeps an imported index."""
