#!/bin/sh
# Makes sure that there is a SPEC.md: that of the base branch, or else the text that the issue had when a maintainer labelled it. What its
# author changes afterwards is not read.
set -eu

fail() {
    echo "autonoe: no run was started: $1" >&2
    exit 1
}

if [ "${SOURCE:-spec}" = spec ]; then
    [ -f SPEC.md ] || fail "there is no SPEC.md on the base branch."
    exit 0
fi
[ "$SOURCE" = issue ] || fail "the source must be spec or issue, got $SOURCE."
[ ! -e SPEC.md ] || fail "the base branch has a SPEC.md already; add what the issue asks for to it."
jq --exit-status '.action == "labeled" and .issue.title != null' "$GITHUB_EVENT_PATH" >/dev/null ||
    fail "this workflow was not started by a label on an issue."
jq --raw-output '"# \(.issue.title)\n\n\(.issue.body // "")"' "$GITHUB_EVENT_PATH" >SPEC.md
