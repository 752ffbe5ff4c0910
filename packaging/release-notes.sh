#!/bin/sh
# Prints what CHANGELOG.md says about a version, or fails if that is nothing: the page of a release would be empty.
#
#   release-notes.sh VERSION
set -eu

notes=$(awk -v version="$1" '/^## / { found = $2 == version; next } found { print }' CHANGELOG.md && echo end)
notes=${notes%end}
if ! printf '%s' "$notes" | grep -v '^#' | grep -q '[^[:space:]]'; then
    echo "CHANGELOG.md says nothing about $1: rename \"## Unreleased\" to \"## $1\" before the tag." >&2
    exit 1
fi
printf '%s' "$notes"
