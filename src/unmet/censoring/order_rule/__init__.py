"""Orders that followed a rule on past observations, and the flags they leave."""
