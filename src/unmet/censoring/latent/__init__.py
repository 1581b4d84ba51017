"""The latent model: likelihoods of what was observed, and what they say about the truth."""
