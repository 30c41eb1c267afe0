"""References from memories to code: how they are made, and whether their code has changed since."""
