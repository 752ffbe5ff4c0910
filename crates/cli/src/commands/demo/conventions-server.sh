#!/bin/sh
# A minimal MCP server with one tool, which returns the team's coding conventions.
conventions='Name a test case in lower case, by what a user would see. Messages go to standard error.'
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"team","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"conventions","description":"The coding conventions of the team","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"method":"tools/call"'*)
      result='{"content":[{"type":"text","text":"'$conventions'"}]}' ;;
    *'"method":"ping"'*) result='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
