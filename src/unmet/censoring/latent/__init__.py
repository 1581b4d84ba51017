"""The latent model: likelihoods of the observations, and what they show about the truth."""
