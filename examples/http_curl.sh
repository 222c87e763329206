#!/usr/bin/env bash
# Plain HTTP with curl: a file of messages is made small, and all that left it can be restored.
#
#   export CONTEXT_COMPRESSION_TOKEN=$(python3 -c "import secrets; print(secrets.token_urlsafe(32))")
#   context-compression serve --http &
#   bash examples/http_curl.sh chat.json 20000
#
# chat.json holds a list of messages, in the format of any provider.
set -euo pipefail

url=${CONTEXT_COMPRESSION_URL:-http://127.0.0.1:8765}
: "${CONTEXT_COMPRESSION_TOKEN:?the token of the server}"
file=${1:?a file with a list of messages} target=${2:-20000}

ask() {
  curl --silent --show-error --fail-with-body \
    --header "Authorization: Bearer $CONTEXT_COMPRESSION_TOKEN" \
    --header "Content-Type: application/json" "$@"
}

printf '{"target_tokens": %d, "session": "curl", "messages": ' "$target" | cat - "$file" <(echo '}') |
  ask "$url/v1/compress" --data-binary @- > small.json
echo "The messages to send, and what was archived, are in small.json."

# A word of what left brings it back; so does {"ref": "…"} with a ref of small.json.
ask "$url/v1/restore" --data '{"query": "error", "session": "curl"}' && echo
ask "$url/v1/status?session=curl" --get && echo
