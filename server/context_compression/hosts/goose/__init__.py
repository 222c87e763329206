"""Goose.

configuration.py   its configuration, and our entry in it
"""
