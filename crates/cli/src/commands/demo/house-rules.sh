#!/bin/sh
# An MCP server with one tool, as small as one can be: it tells the rules of the house.
rules='Name a test case in lower case, by what a user would see. Messages go to standard error.'
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"house","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"rules","description":"The rules of the house","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"method":"tools/call"'*)
      result='{"content":[{"type":"text","text":"'$rules'"}]}' ;;
    *'"method":"ping"'*) result='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
