"""Attacks on what is promised: secrets that want out, quotes that want to speak."""
