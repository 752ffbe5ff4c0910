#!/bin/sh
# Runs autonoe with a limit on money, and shows its report as the summary of the job. No token of the repository is in this environment.
set -eu

fail() {
    echo "autonoe: no run was started: $1" >&2
    exit 1
}

case ${MAX_COST:-} in
    '') fail "max-cost is not set; a run in CI needs a limit in US dollars." ;;
    *[!0-9.]* | *.*.* | .) fail "max-cost must be a number of US dollars, got $MAX_COST." ;;
esac
for name in GH_TOKEN GITHUB_TOKEN; do
    if eval "[ -n \"\${$name:-}\" ]"; then
        fail "$name is set; a run must not be able to read it."
    fi
done
set -- --land never --max-cost "$MAX_COST" --max-duration "${MAX_DURATION:-5h}" --backend "${BACKEND:-auto}"
code=0
autonoe run "$@" || code=$?
autonoe report --format markdown >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}" || echo "autonoe: there is no report." >&2
exit "$code"
