"""The durable, global truth: chunk rows with their vectors in Lance tables."""
