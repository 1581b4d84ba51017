"""Search of hyperparameters for any model, with Optuna."""
