#!/bin/sh
# Passes an event of Gemini CLI's hooks on, where it has at least $1 characters: starting Python takes
# a third of a second. Whatever goes wrong, it says nothing, and Gemini CLI goes on as without us.
context_compression() { context-compression "$@"; } # `install gemini-cli` writes the full path here
event=$(cat)
if [ "${#event}" -ge "$1" ]; then
  if [ -n "$CONTEXT_COMPRESSION_COMMAND" ]; then
    context_compression() { "$CONTEXT_COMPRESSION_COMMAND" "$@"; }
  fi
  printf '%s' "$event" | context_compression hook gemini-cli 2>/dev/null
fi
exit 0
