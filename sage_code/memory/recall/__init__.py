"""From a question to memories: ranking, probabilities, keywords and the scores of knowledge."""
