#!/bin/sh
# Ends with an error unless a maintainer started this workflow. A run spends money and writes code: anyone who may only open issues or pull
# requests, and every bot, must not be able to start one.
set -eu

fail() {
    echo "autonoe: no run was started: $1" >&2
    exit 1
}

[ -n "${ACTOR:-}" ] || fail "ACTOR is not set."
case $ACTOR in
    *'[bot]') fail "$ACTOR is a bot, and only maintainers may start runs." ;;
esac
role=$(gh api "repos/$GITHUB_REPOSITORY/collaborators/$ACTOR/permission" --jq .role_name) ||
    fail "the role of $ACTOR in $GITHUB_REPOSITORY cannot be found out."
case $role in
    admin | maintain) ;;
    *) fail "$ACTOR has the role $role, and only maintainers may start runs." ;;
esac
