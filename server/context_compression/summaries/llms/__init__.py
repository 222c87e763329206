"""Ways to a model that writes summaries: one file for each."""
