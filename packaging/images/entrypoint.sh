#!/bin/sh
# Says it when bubblewrap does not work in this container, and then starts autonoe, which refuses to run without any sandbox.
set -eu

case ${1:-} in
    # These start no agents, or, like doctor, say it themselves.
    -h | --help | help | -V | --version | doctor | completions | man) ;;
    *)
        if ! bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>/dev/null; then
            echo "autonoe: bubblewrap does not work here; \`autonoe doctor\` says what holds." >&2
        fi
        ;;
esac
exec autonoe "$@"
