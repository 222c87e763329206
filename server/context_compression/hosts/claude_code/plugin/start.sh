#!/bin/sh
# Starts the context-compression this plugin came with, or else one that is installed.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
# here is .../lib/python3.x/site-packages/context_compression/hosts/claude_code/plugin
environment=$here/../../../../../..
for command in \
  "$CONTEXT_COMPRESSION_COMMAND" \
  "$environment/../bin/context-compression" \
  "$environment/Scripts/context-compression.exe" \
  "$(command -v context-compression)"; do
  if [ -n "$command" ] && [ -x "$command" ]; then
    exec "$command" "$@"
  fi
done
# Never fetched by its name: whoever registered that at an index would be run.
echo "context-compression is not installed, or not found. In a clone of its repository:" >&2
echo "  pip install .    (in an environment that stays)" >&2
echo "and then context-compression install claude-code; or name the command in CONTEXT_COMPRESSION_COMMAND, or put it on the PATH." >&2
exit 1
