"""`python -m context_compression` is the command `context-compression`."""

from context_compression.cli import main

if __name__ == "__main__":
    main(prog_name="context-compression")
