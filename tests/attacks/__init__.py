"""Attacks that anyone can repeat: what they try, and what must hold."""
