#!/bin/sh
# Starts the context-compression this plugin came with, or else one that is installed.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
environment=$here/../../../../..  # of .../lib/python3.x/site-packages/context_compression/plugins/claude_code
for command in \
  "$CONTEXT_COMPRESSION_COMMAND" \
  "$environment/../bin/context-compression" \
  "$environment/Scripts/context-compression.exe" \
  "$(command -v context-compression)"; do
  if [ -n "$command" ] && [ -x "$command" ]; then
    exec "$command" "$@"
  fi
done
if command -v uvx >/dev/null; then
  exec uvx context-compression "$@"
fi
echo "context-compression is not installed: pipx install context-compression" >&2
exit 1
