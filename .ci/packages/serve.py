"""Starts the server in a bundle: hosts run this file with uv."""

from context_compression.cli import main

main(["serve"], prog_name="context-compression")
