//! What variables, parameters and pipes may contain decides, not what they contain last.

use super::tests::expect;

#[test]
fn each_value_that_a_variable_may_have_counts() {
    expect(
        Some("contained.publish"),
        &[
            "D=--dry-run; if x; then D=; fi; npm publish $D",
            "D=; if x; then D=--dry-run; fi; npm publish $D",
            "if x; then D=--dry-run; fi; npm publish $D",
            "if x; then D=--dry-run; elif y; then D=--dry-run; fi; npm publish $D",
            "CMD=echo; [ -n \"$X\" ] && CMD=\"git push\"; $CMD",
            "CMD=echo; [ -n \"$X\" ] || CMD='git push'; $CMD",
            "CMD='git push'; [ -n \"$X\" ] && CMD=echo; $CMD",
            "case $1 in a) v=status;; b) v=push;; esac; git $v",
            "case $1 in a) D=--dry-run;; esac; npm publish $D",
            "while x; do git $v; v=push; done",
            "v=status; until x; do git $v; v=push; done",
            "for i in 1 2; do git $v; v=push; done",
            "for i in $(ls); do v=push; done; git $v",
            "v=status; for i in $(ls); do git $v; v=push; done",
            "a() { v=push; }; v=status; a; git $v",
            "f() { git $v; }; v=push; f",
            "f() { git $v; }; v=status; g() { v=push; f; }; g",
            "x() { echo \"$@\"; }; if y; then x() { \"$@\"; }; fi; x git push",
            "x=git; y=$x; x=echo; $y push",
            "x='git push'; y=$x; $y",
            "v=push && x && v=status; git $v",
            "D=--dry-run npm publish $D",
            "D=--dry-run; unset D; npm publish $D",
            "D=--dry-run; D=$(cat x); npm publish $D",
            "D=; f() { local D=--dry-run; }; f; npm publish $D",
            "(D=--dry-run); npm publish $D",
            "x=false; [ $y ] && x=; npm publish --dry-run=$x",
            "v=status; (v=push; git $v)",
            "x=xgit; ${x#x} push",
            "x=gitx; ${x%x} push",
            "x=GIT; ${x,,} push",
            "x=gxt; ${x/x/i} push",
            "x=agitb; ${x:1:3} push",
            "IFS=,; x=git,push; $x",
        ],
    );
    expect(
        None,
        &[
            "D=; D=--dry-run; npm publish $D",
            "if x; then D=--dry-run; else D='--dry-run --tag next'; fi; npm publish $D",
            "case $1 in a) D=--dry-run;; *) D=--dry-run;; esac; npm publish $D",
            "cd pkg && D=--dry-run && npm publish $D",
            "v=status; v=log; [ -n \"$x\" ] && v=fetch; git $v",
            "v=push; v=status; git $v",
            "for f in a b c; do [ -f $f ] && found=\"$found $f\"; done; ls $found",
            "for f in 1 2 3 4 5 6 7 8 9 10 11 12; do [ -f $f ] && found=\"$found $f\"; done; git add $found",
            "A=; B=; C=; [ $x ] && A=-a; [ $y ] && B=-b; [ $z ] && C=-c; git commit $A $B $C -m 'git push'",
            "n=0; while [ $n -lt 5 ]; do n=$((n+1)); echo $n; done; kill $n",
        ],
    );
}

#[test]
fn an_option_that_may_be_absent_makes_nothing_harmless() {
    expect(
        Some("contained.publish"),
        &[
            "npm publish ${DRY:+--dry-run}",
            "npm publish ${DRY+--dry-run}",
            "f() { npm publish ${1:+--dry-run}; }; f",
            "DRY=$(cat x); npm publish ${DRY:+--dry-run}",
            "DRY=; npm publish ${DRY:+--dry-run}",
            "RUN=; [ \"$DRY\" ] && RUN=echo; $RUN npm publish",
            "x=$(cat y); npm publish ${x:---dry-run}",
            "git ${x:+push}",
            "x=$(cat y); git ${x:-push}",
        ],
    );
    expect(
        None,
        &[
            "DRY=1; npm publish ${DRY:+--dry-run}",
            "npm publish ${DRY:---dry-run}",
            "RUN=echo; [ \"$V\" ] && RUN='echo -n'; $RUN npm publish",
            "git ${x:+status} && git fetch ${DEPTH:+--depth $DEPTH}",
        ],
    );
}

#[test]
fn parameters_are_followed() {
    expect(
        Some("contained.publish"),
        &[
            "f() { shift; \"$@\"; }; f x git push",
            "f() { local n=$1; shift; \"$@\"; }; f x git push",
            "f() { shift 2; git \"$1\"; }; f a b push",
            "f() { \"${@:2}\"; }; f x git push",
            "f() { \"${@:2:2}\"; }; f x git push y",
            "f() { eval \"$*\"; }; f git push",
            "f() { sh -c \"$*\"; }; f git push",
            "f() { while [ $# -gt 0 ]; do case $1 in -v) shift;; *) break;; esac; done; \"$@\"; }; f -v git push",
            "f() { if x; then shift; fi; \"$@\"; }; f a git push",
            "set -- git push; \"$@\"",
            "set git push; \"$@\"",
            "set -- git push; $1 $2",
            "set -- git push; sh -c \"$*\"",
            "set -- a; set -- git push \"$@\"; \"$@\"",
            "set -- npm git; for c; do $c push; done",
            "set -- npm git; for c in \"$@\"; do $c push; done",
            "a=(git push); sh -c \"${a[*]}\"",
            "a=(x git push); \"${a[@]:1}\"",
            "a=(git push); ${a[0]} ${a[1]}",
            "a=(status push); i=$(cat n); git ${a[$i]}",
            "a=(status push); for i in 0 1; do git ${a[i]}; done",
            "a=(status push); git ${a[n]}",
            "declare -A m; m[x]=push; git ${m[x]}",
            "declare -A m=([x]=push); git ${m[x]}",
        ],
    );
    expect(
        None,
        &[
            "f() { shift; \"$@\"; }; f git ls push",
            "set -- git push; shift; \"$@\" || true",
            "a=(git push); echo \"${a[@]}\"",
            "f() { local msg=$1; shift; echo \"$msg: $*\"; }; f git push",
            "f() { echo $1; }; f; f; g() { f \"$@\"; }; g git push",
        ],
    );
}

#[test]
fn values_that_are_put_together_are_known() {
    expect(
        Some("contained.publish"),
        &[
            "a=(git); a+=(push); \"${a[@]}\"",
            "a=(); a+=(git); [ $x ] && a+=(push); \"${a[@]}\"",
            "a[0]=git; a[1]=push; \"${a[@]}\"",
            "s=git; s+=\" push\"; $s",
            "s=git; s+=' push'; sh -c \"$s\"",
            "a=(npm publish); [ $x ] && a+=(--dry-run); \"${a[@]}\"",
            "export s=git; s=\"$s push\"; $s",
        ],
    );
    expect(
        None,
        &[
            "a=(npm publish); a+=(--dry-run); \"${a[@]}\"",
            "a=(git); a+=(status); \"${a[@]}\"; s=git; s+=' log'; $s",
        ],
    );
}

#[test]
fn text_that_is_read_is_known() {
    expect(
        Some("contained.publish"),
        &[
            "echo git push | sh",
            "{ echo cd x; echo git push; } | sh",
            "(printf '%s %s\\n' git push) | bash -s",
            "f() { echo git push; }; f | sh",
            "for v in fetch push; do echo git $v; done | sh",
            "echo git push | cat | sh",
            "echo git push | tee x | sudo bash",
            "cat <<< 'git push' | sh",
            "cat <<E | sh\ngit push\nE",
            "sh < <(echo git push)",
            "read c <<< 'git push'; $c",
            "read -r c < <(echo git push); $c",
            "read -r a b <<< 'git push'; $a $b",
            "IFS=, read -r a b <<< 'git,push'; $a $b",
            "read -a a <<< 'git push'; \"${a[@]}\"",
            "read -ra a <<< 'git push'; \"${a[@]}\"",
            "echo git push | { read c; $c; }",
            "echo git push | while read -r c; do $c; done",
            "printf 'ls\\ngit push\\n' | while read -r c; do $c; done",
            "while read -r c; do eval \"$c\"; done <<E\nls\ngit push\nE",
            "mapfile -t a <<< 'git push'; ${a[0]}",
            "mapfile -t a < <(printf '%s\\n' git push); \"${a[@]}\"",
            "readarray -t <<< 'git push'; $MAPFILE",
            "printf -v c 'git %s' push; $c",
            "printf -v c '%s ' git push; $c",
            "eval \"$(printf 'git %s' push)\"",
            "eval \"$(cat <<'E'\ngit push\nE\n)\"",
            "eval \"$(echo 'git push' | cat)\"",
            "c=$(echo git; echo push); eval $c",
            "$(printf '%s' git) push",
            "git $(printf '\\160ush')",
            "(echo push) | xargs git",
            "f() { xargs git; }; echo push | f",
            "xargs git < <(echo push)",
        ],
    );
    expect(
        None,
        &[
            "echo git push | cat; echo git push | grep push; echo 'git push' | while read -r l; do echo \"$l\"; done",
            "read -r a <<< 'git push'; echo $a",
            "printf -v c '%03d' 7; echo $c",
            "echo 'sh' | sh; git log | sh",
            "git commit -m \"$(cat <<'E'\ngit push\nE\n)\"",
            "mapfile -t files < <(git ls-files); for f in \"${files[@]}\"; do wc -l \"$f\"; done",
            "cat x | while IFS=, read -r a b; do echo \"$a\" \"$b\"; done",
        ],
    );
}
