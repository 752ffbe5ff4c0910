#!/bin/sh
# Installs autonoe for the user who starts it, below ~/.local. Needs no root and no compiler.
#
# It checks the signature of the list of checksums and the checksum of what it downloads, and changes nothing before both are right.
# `cargo xtask dist` writes the version, the address and the signer into it.
#
#   install.sh [--prefix DIR] [--from URL_OR_DIR] [--without-signature]
set -eu

VERSION='@VERSION@'
REPOSITORY='@REPOSITORY@'
# The line of ssh-keygen's allowed signers; empty if the release was not signed.
SIGNER='@SIGNER@'
SIGNER_NAME='@SIGNER_NAME@'
NAMESPACE='@NAMESPACE@'

# For the archive, what is in it, and the copy that is installed.
NEEDED_MB=100

prefix="${HOME:-}/.local"
from="$REPOSITORY/releases/download/v$VERSION"
check_signature=yes
temporary=

# Everything is in functions and starts in the last line, so that half a download does nothing.
main() {
    read_arguments "$@"
    archive="autonoe-$VERSION-$(find_target).tar.gz"
    find_tools
    make_temporary_directory
    check_space "$temporary"
    download SHA256SUMS
    verify_signature
    download "$archive"
    verify_checksum
    unpack
    install_files
    say_what_is_next
}

fail() {
    echo "autonoe was not installed: $1" >&2
    exit 1
}

read_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix | --from)
                [ $# -ge 2 ] || fail "$1 needs a value."
                if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
                shift 2
                ;;
            --without-signature)
                check_signature=no
                shift
                ;;
            *) fail "the option $1 is unknown. Known are --prefix DIR, --from URL_OR_DIR and --without-signature." ;;
        esac
    done
    [ "$prefix" != /.local ] || fail "HOME is not set. Name a directory with --prefix."
}

find_target() {
    system=$(uname -s)
    processor=$(uname -m)
    case $processor in
        x86_64 | amd64) processor=x86_64 ;;
        aarch64 | arm64) processor=aarch64 ;;
        *) fail "there is no build for the processor $processor. Build it from source: $REPOSITORY" ;;
    esac
    case $system in
        Linux) echo "$processor-unknown-linux-musl" ;;
        Darwin) echo "$processor-apple-darwin" ;;
        *) fail "there is no build for the system $system. On Windows, use WSL." ;;
    esac
}

has() {
    command -v "$1" >/dev/null 2>&1
}

find_tools() {
    for tool in tar gzip mktemp df awk; do
        has "$tool" || fail "the program $tool is missing. Install it and start again."
    done
    has sha256sum || has shasum || fail "neither sha256sum nor shasum is installed, so nothing can be verified."
    case $from in
        *://*) has curl || has wget || fail "neither curl nor wget is installed." ;;
    esac
}

make_temporary_directory() {
    temporary=$(mktemp -d) || fail "no temporary directory can be made in ${TMPDIR:-/tmp}."
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 130' INT TERM
}

check_space() {
    free_mb=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$free_mb" -ge "$NEEDED_MB" ] ||
        fail "there is not enough space in $1: $free_mb MB are free, $NEEDED_MB MB are needed."
}

download() {
    case $from in
        *://*)
            if has curl; then
                curl --fail --silent --show-error --location --output "$temporary/$1" "$from/$1"
            else
                wget --quiet --output-document "$temporary/$1" "$from/$1"
            fi || fail "$from/$1 cannot be downloaded."
            ;;
        *) cp "$from/$1" "$temporary/$1" || fail "$from/$1 cannot be read." ;;
    esac
}

verify_signature() {
    if [ "$check_signature" = no ]; then
        echo "The signature is not checked, as you asked." >&2
        return
    fi
    if [ -z "$SIGNER" ]; then
        echo "This release is not signed; only its checksums are checked." >&2
        return
    fi
    has ssh-keygen ||
        fail "ssh-keygen is missing, so the signature cannot be checked. Install OpenSSH, or pass --without-signature."
    download SHA256SUMS.sig
    printf '%s\n' "$SIGNER" >"$temporary/signer"
    verdict=$(ssh-keygen -Y verify -f "$temporary/signer" -I "$SIGNER_NAME" -n "$NAMESPACE" \
        -s "$temporary/SHA256SUMS.sig" <"$temporary/SHA256SUMS" 2>&1) || case $verdict in
        *"No user exists"*)
            fail "ssh-keygen refuses to work for a user without a name (uid $(id -u)), so the signature cannot be checked. Start as another user, or pass --without-signature."
            ;;
        *) fail "the signature of SHA256SUMS is wrong. Do not use these files; please report it: $REPOSITORY" ;;
    esac
}

verify_checksum() {
    wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$temporary/SHA256SUMS")
    [ -n "$wanted" ] || fail "SHA256SUMS does not list $archive."
    if has sha256sum; then
        found=$(sha256sum "$temporary/$archive")
    else
        found=$(shasum -a 256 "$temporary/$archive")
    fi
    [ "${found%% *}" = "$wanted" ] ||
        fail "the checksum of $archive is wrong. The download is damaged, or somebody changed it; start again."
}

unpack() {
    tar -xzf "$temporary/$archive" -C "$temporary" || fail "$archive cannot be unpacked in $temporary."
    unpacked="$temporary/${archive%.tar.gz}"
}

install_files() {
    mkdir -p "$prefix/bin" "$prefix/share" 2>/dev/null && [ -w "$prefix/bin" ] && [ -w "$prefix/share" ] ||
        fail "you cannot write to $prefix. Name another directory with --prefix."
    check_space "$prefix"
    cp -R "$unpacked/share/." "$prefix/share/" || fail "the files in $prefix/share cannot be written."
    # The old binary may be running: it is replaced, never written to.
    cp "$unpacked/bin/autonoe" "$prefix/bin/.autonoe.new" && mv -f "$prefix/bin/.autonoe.new" "$prefix/bin/autonoe" ||
        fail "$prefix/bin/autonoe cannot be written."
    "$prefix/bin/autonoe" --version >/dev/null ||
        fail "$prefix/bin/autonoe does not start. Is $prefix on a file system that forbids programs (noexec)?"
}

say_what_is_next() {
    echo "Installed autonoe $VERSION in $prefix/bin."
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) echo "That directory is not on your PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
    echo "Next: autonoe doctor"
}

main "$@"
