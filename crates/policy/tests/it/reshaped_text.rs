//! Paths that operators, programs and the shell make of a script's own text.

use crate::tables::{judge_all, strict};

#[test]
fn text_that_programs_reshape_may_be_any_path() {
    judge_all(
        &strict(),
        false,
        &[
            "cat $(echo dwssap/cte/ | rev)",
            "cat $(echo L2V0Yy9wYXNzd2Q= | base64 -d)",
            "cat \"$(tr x / <<< xetcxpasswd)\"",
            "echo xetcxpasswd | tr x / | xargs cat",
            "cat $(echo etc/passwd | sed s:^:/:)",
            "cat $(echo x/etc/passwd | cut -c2-)",
            "cat $(echo a:/etc/passwd | cut -d: -f2)",
            "cat $(echo x/etc/passwd | grep -o '/.*')",
            "cat $(printf '%s\\n' / etc/passwd | paste -sd '')",
            "cat $(echo etc/passwd | xargs printf /%s)",
            "cat $(echo etc/passwd | xargs -I{} echo /{})",
            "cat $(echo 'a /etc' | awk '{print $2}')/passwd",
            "cat $(awk 'BEGIN{printf \"%cetc\", 47}')/passwd",
            "cat $(expr x/etc/passwd : 'x\\(.*\\)')",
            "cat $(git log -1 --format=%x2fetc%x2fpasswd)",
            "cat $(find . -maxdepth 0 -printf '\\057etc/passwd')",
            "cat $(jq -nr '\"\\u002fetc/passwd\"')",
            "cat $(date +%n/etc/passwd)",
            "cat $(ls | tr _ /)",
            "f() { tr x /; }; cat $(echo xetc | f)",
            "echo xetcxpasswd | tr x / | while read -r f; do cat \"$f\"; done",
            "[[ x/etc/passwdx =~ x(.*)x ]]; cat ${BASH_REMATCH[1]}",
            "for f in src/*; do cat \"${f:3}\"; done",
            "for f in $(git ls-files); do cat ${f#src}; done",
            "x=/etc/$(ls); cat ${x%y}",
            "a=(/ etc /passwd); b=\"${a[*]}\"; cat ${b// /}",
            "a=(x.a.); cat ${a//[xa]}/y",
            "x=XetcXpasswd; cat \"${x//X/\\/}\"",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "cat $(echo src/main.js | sort | head -1)",
            "x=$(echo A | tr A-Z a-z); cat src/$x.txt",
            "for f in src/*.js; do cat \"${f/src/lib}\" \"${f%.js}.ts\" \"${f##*/}\" \"${f#src/}\"; done",
            "cat logs/$(date +%Y-%m-%d).log logs/$(date +%F).log",
            "ls -la $(git diff --name-only main..HEAD | sort -u)",
            "wc -l $(git ls-files '*.js' | head -20)",
            "VERSION=$(node -p \"require('./package.json').version\") npm run build",
            "echo $(echo a | tr a b) $(echo x | base64)",
        ],
    );
}

#[test]
fn text_beside_what_is_not_known_may_make_the_name_of_a_link() {
    judge_all(
        &strict(),
        false,
        &[
            "cat escape-file$(true)",
            "cat $(cat <(echo /etc/passwd))",
            "cat <(echo /etc/passwd) | xargs cat",
            "cat $(cut -d: -f2 <(echo a:/etc/passwd))",
            "x=$(sort <(echo escape-file)); cat $x",
            "{ cat $(cat <&3); } 3<<< escape-file",
            "cat $(git rev-parse escape-file)",
            "cat $(git rev-parse --prefix escape -- -file)",
            "git ls-files -o escape-file | xargs cat",
            "cat $(git rev-parse --show-toplevel)/escape-fil?",
            "cd src; cat $(git rev-parse --show-toplevel)/escape-fil?",
            "echo $(git rev-parse --show-toplevel)/escape/*",
            "mkdir x; cat x/../escape-file",
            "cat x/../escape-file src/x/../main.js",
            "cat src/x/../../escape/secret.txt",
            "cat $(git rev-parse --show-toplevel)/escape-file",
            "read -r x; cat \"escape-fil$x\"",
            "cat \"escape${x}-file\"",
            "cat escape$(ls)/secret.txt",
            "cat $(true)escape/secret.txt",
            "cat src/$(true)/../escape-file",
            "cat ${x:-escape}-file",
            "local x=a; cat escape-file$x",
            "cat $(sed -n 's/foo/escape-file/p' README.md)",
            "cat $(date +escape-file)",
            "cat \"$(seq -f escape-file 1)\"",
            "grep -o [^x]* README.md",
            "grep foo esc*",
            "x='[^x]*'; grep -o $x",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "read -r x; cat \"src/$x.js\"",
            "git ls-files | while read -r f; do head -1 \"$f\"; done",
            "grep -c import src/*.js",
            "cat $x/README.md",
            "diff <(sort README.md) <(sort src/main.js); cat $(git diff --name-only main src)",
            "cat $(git rev-parse --show-toplevel)/src/*.js",
            "cat $(git rev-parse --show-toplevel)/README.md",
            "mkdir -p x; cat x/../README.md",
        ],
    );
}

#[test]
fn words_are_divided_and_joined_as_the_shell_does_it() {
    judge_all(
        &strict(),
        false,
        &[
            "cat $(echo 'a ')/etc/passwd",
            "cat x$(echo a; echo /etc/passwd)",
            "cat x$(printf 'a\\n/etc/passwd')y",
            "cat \"$PWD-other/x\"",
            "cat ${PWD%/*}-other/x",
            "cat escape$HOME/x",
            "cat escape$PWD/x",
            "cat $(dirname $PWD)-other/x",
            "cat ${0%bash}etc/passwd",
            "cat ${SHELL%bin/bash}etc/passwd",
            "cat \"$(echo -e '\\cA')escape-file\"",
            "cat \"$(printf '%')escape-file\"",
            "cat \"$(printf '\\400')escape-file\"",
            "cat \"$(echo -Ee '\\c')escape-file\"",
            "cat \"$(env printf '\\u2f')etc/passwd\"",
            "_=x; cat escape-file$_",
            "getopts e o -e; cat ${o}scape-file",
            "getopts t o -t; cat /e${o}c/hostname",
            "while getopts ef o -e; do cat ${o}scape-file; done",
            "set -- -e; getopts e o; x=${o}scape-file; cat $x",
            "hexdump -Cfescape-file README.md",
            "du -sXescape-file src",
            "git log -p -O escape-file",
            "git rev-list HEAD --output=escape-file",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "cat \"$PWD/README.md\" \"${PWD}/src/main.js\"",
            "cat \"${PWD##*/}.md\" \"$(basename \"$PWD\").md\"",
            "cat $TMPDIR/x \"${TMPDIR}/y\"",
            "f() { cat \"$1/README.md\"; }; f docs",
        ],
    );
}

#[test]
fn text_that_the_script_writes_into_a_file_is_what_it_reads_from_one() {
    judge_all(
        &strict(),
        false,
        &[
            "echo /etc/passwd > list; cat $(cat list)",
            "echo /etc/passwd > list; xargs cat < list",
            "echo /etc/passwd > list; xargs -a list cat",
            "echo /etc/passwd > list; while read -r f; do cat \"$f\"; done < list",
            "echo /etc/passwd | tee list; cat \"$(< list)\"",
            "cat > list <<E\n/etc/passwd\nE\nread -r f < list; cat $f",
            "{ echo /etc; echo passwd; } > list; mapfile -t a < list; cat \"${a[0]}/${a[1]}\"",
            "echo xetcxpasswd > list; cat $(tr x / < list)",
            "echo x/etc/passwd > list; cat $(cut -c2- list)",
            "echo escape-file > list; cat $(head -1 list)",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "echo start > log.txt; wc -l $(git ls-files)",
            "echo src/main.js > list; cat $(cat list)",
            "echo /etc/passwd > list; cat list",
            "cargo test > log.txt 2>&1; tail -5 log.txt",
            "echo x >&2; for f in $(git ls-files | head -3); do head -1 $f; done",
        ],
    );
}
