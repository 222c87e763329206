"""The adapter for this framework."""
