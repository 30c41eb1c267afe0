"""Object storage: where a store is when it is not a folder, how it is reached, and who may write to it."""
