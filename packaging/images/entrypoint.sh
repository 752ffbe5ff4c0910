#!/bin/sh
# Says it when the container allows only a part of the sandbox, and then starts autonoe, which refuses to run without any.
set -eu

case ${1:-} in
    run | plan | sync | agent)
        if ! bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>/dev/null; then
            echo "autonoe: bubblewrap does not work in this container, so that Landlock alone holds the agents, which holds less." >&2
            echo "autonoe: \`autonoe doctor\` says what is missing and with which flags to start the container." >&2
        fi
        ;;
esac
exec autonoe "$@"
