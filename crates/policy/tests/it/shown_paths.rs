//! Paths outside that a command does not write out, but that its text shows: printed, passed on, divided or put together.

use crate::tables::{judge_all, strict};

#[test]
fn what_nested_commands_print_is_judged_as_paths() {
    judge_all(
        &strict(),
        false,
        &[
            "cat $({ echo /etc/passwd; })",
            "cat $( (echo /etc/passwd) )",
            "cat $(if true; then echo /etc/passwd; fi)",
            "cat $(if false; then :; else echo /etc/passwd; fi)",
            "cat $(for f in /etc/passwd; do echo $f; done)",
            "cat $(for f in /et c/passwd; do printf %s $f; done)",
            "cat $(while true; do echo /etc/passwd; break; done)",
            "cat $(case x in x) echo /etc/passwd;; esac)",
            "f() { echo /etc/passwd; }; cat $(f)",
            "cat $(env echo /etc/passwd)",
            "cat $(timeout 5 echo /etc/passwd)",
            "cat $(nice printf /etc/passwd)",
            "cat $(echo /etc/passwd | cat)",
            "cat $(echo /etc/passwd | sort | head -1)",
            "cat $(cat <<E\n/etc/passwd\nE\n)",
            "cat $(cat <<< /etc/passwd)",
            "cat $({ cat; } <<< /etc/passwd)",
            "cat $(if true; then cat; fi <<E\n/etc/passwd\nE\n)",
            "cat $('echo' /etc/passwd)",
            "\\echo /etc/passwd | xargs cat",
            "a=(. ./x); cat $(printf %s \"${a[@]}\")",
            "x='. ./x'; cat \"$(printf %s $x)\"",
            "f() { read x; cat $x; }; echo /etc/passwd | f",
            "f() { read -r x; cat \"$x\"; }; f <<< /etc/passwd",
            "for c in s r c / . . / . . / x; do x+=$c; done; cat $x",
            "for c in s r c / . . / . . / x; do x=$x$c; done; y=$x; cat \"$y\"",
            "p=.; while true; do p=$p/..; cat $p/x; done",
            "f() { x=$x$1; }; f s; f r; f c; f /; f .; f .; f /; f .; f .; cat $x",
            "cat $(sort <<< /etc/passwd)",
            "cat $(cat < <(echo /etc/passwd))",
            "cat `echo /etc/passwd | cat`",
            "x=$(echo /etc/passwd | cat); cat $x",
            "cat $(xargs echo <<< /etc/passwd)",
            "cat $(date +/etc/passwd)",
            "cat $(yes /etc/passwd | head -1)",
            "cat $(seq -f ../x 1)",
            "cat $(awk 'BEGIN{print \"/etc/passwd\"}')",
            "cat $(git log -1 --format=/etc/passwd)",
            "find . -maxdepth 0 -printf '/etc/passwd\\n' | xargs cat",
            "sed -n '1i /etc/passwd' README.md | xargs cat",
            "date +/etc/passwd | while read -r f; do cat $f; done",
            "x=$(if true; then echo /etc/passwd; fi); head -1 \"$x\"",
            "cat $(printf '%s%s' . ./x)",
            "cat $(printf '%s' . ./x)",
            "cat $(printf '%s/%s' /etc passwd)",
            "cat $(printf '%.1s' /etc)etc/passwd",
            "cat $(dirname /etc)etc/passwd",
            "cat $(printf /; echo etc/passwd)",
            "{ echo /etc/passwd; } | while read -r f; do cat $f; done",
            "if true; then echo /etc/passwd; fi | { read f; cat $f; }",
            "read -r f < <(echo /etc/passwd); cat $f",
            "mapfile -t a < <(printf '%s\\n' /etc/passwd); cat \"${a[0]}\"",
        ],
    );
}

#[test]
fn values_that_are_not_computed_are_no_readable_paths() {
    let many: String = (0..260).map(|n| format!(" v{n}")).collect();
    let long = "x".repeat(8192);
    let words: String = (0..500).map(|n| format!(" w{n}")).collect();
    let slashes = "/".repeat(5000);
    let commands = [
        format!("a=({many} /etc/passwd); cat \"${{a[260]}}\""),
        format!("a=({many} /etc/passwd); cat ${{a[@]:260:1}}"),
        format!("a=({many} /etc/passwd); cat ${{a[@]#v}}"),
        format!("a=({many} /etc/passwd); for f in \"${{a[@]}}\"; do cat $f; done"),
        format!("set -- {many} /etc/passwd; cat ${{261}}"),
        format!("set -- {many} /etc/passwd; cat ${{@:261}}"),
        format!("x='{long} /etc/passwd'; cat ${{x#* }}"),
        format!("x='{long}/etc/passwd'; cat ${{x#{long}}}"),
        format!("x={slashes}etc/passwd; cat $x"),
        format!("echo {words} /etc/passwd | xargs cat"),
        format!("echo {long} {words} {words} {words} {words} /etc/passwd | xargs cat"),
        format!("cat $(echo {long} /etc/passwd)"),
    ];
    judge_all(&strict(), false, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    judge_all(
        &strict(),
        false,
        &[
            "IFS=: read -r a b <<< x:/etc/passwd; cat $b",
            "IFS=: read -r a b <<< x:/etc/passwd:y; cat $b",
            "IFS=: read -ra a <<< x:/etc/passwd:y; cat ${a[1]}",
            "IFS=$y read -r a b <<< xz/etc/passwd; cat $b",
            "while IFS=, read -r a b; do cat $b; done <<E\nx,/etc/passwd\nE",
            "read -r -d, f <<< /etc/passwd,x; cat $f",
            "read -d , f <<< /etc/passwd,x; cat $f",
            "read f <<< '/e\\tc/passwd'; cat $f",
            "read -n 11 f <<< /etc/passwdx; cat $f",
            "[[ x/etc/passwd =~ x(.*) ]]; cat ${BASH_REMATCH[1]}",
            "x=a/etc/passwd; [[ $x =~ a(.*) ]] && cat \"${BASH_REMATCH[1]}\"",
            "[[ a..b =~ a(..)b ]]; cat ${BASH_REMATCH[1]}/x",
            "set -- -f /etc/passwd; getopts f: o; cat $OPTARG",
            "set -- -f/etc/passwd; while getopts f: o; do cat \"$OPTARG\"; done",
            "getopts f: o -f /etc/passwd; cat $OPTARG",
            "cat ${PATH:0:1}etc/passwd",
            "cat \"${SHELL:0:1}etc/passwd\"",
            "x=$(git rev-parse --show-toplevel); cat ${x:0:1}etc/passwd",
            "cat ${PATH%%[!/]*}etc/passwd",
            "cat ${HOME^}/x",
            "x=/ETC/PASSWD; cat ${x,,}",
            "x=a/etc/passwd; cat ${x/a/}",
            "x=Xetc/passwd; cat ${x/X//}",
            "x=XetcXpasswd; cat ${x//X//}",
            "x='-.-.'; cat ${x//-/}/x",
            "x=.a.; cat ${x/a/}/x",
            "x=...; cat ${x:1}/x",
            "x=etc/passwd; cat ${x/#//}",
            "x=XetcX; cat ${x//[X]//}",
        ],
    );
}

#[test]
fn values_that_stay_in_the_project_may_be_read() {
    judge_all(
        &strict(),
        true,
        &[
            "cat $({ echo README.md; })",
            "cat $(echo src/main.js | cat)",
            "cat $(for f in src/*.js; do echo $f; done)",
            "cat $(printf 'src/%s.js' main)",
            "cat $(printf '%s\\n' README.md src/main.js)",
            "cat $(echo README.md; echo src/main.js)",
            "cat $(git ls-files | head -1)",
            "cat logs/$(date +%Y/%m/%d).log",
            "ls -la $(which node) $(git diff --name-only main..HEAD)",
            "head -1 $(find . -name '*.js' -not -path './node_modules/*' -printf '%p\\n')",
            "cat $(cat <<E\nREADME.md\nE\n)",
            "for f in src/*.js; do n=$(echo $f | sed 's/js$/ts/'); cat $n; done",
            "for f in src/*.js; do n=$(basename \"$f\" .js); cat src/$n.js; done",
            "git ls-files | while read -r f; do cat \"$f\"; done",
            "while IFS=: read -r a b; do cat \"$a\"; done < README.md",
            "IFS=: read -r a b <<< README.md:src; cat $a",
            "IFS=, read -ra a <<< src/main.js,README.md; cat \"${a[0]}\"",
            "for f in src/*.js; do [[ $f =~ ^(.*)\\.js$ ]] && cat \"${BASH_REMATCH[1]}.js\"; done",
            "while getopts f: o; do cat \"$OPTARG\"; done",
            "set -- -f README.md; getopts f: o; cat $OPTARG",
            "f=main.test.js; cat src/${f/.test/}",
            "f=src/main.js; cat \"${f/main/util}\" ${f%.js}.ts ${f^} ${f,,}",
            "x=main.js; cat src/${x:0:4}.js",
            "a=(README.md src/main.js); cat \"${a[@]}\"; cat ${a[@]:1}",
            "x=$(echo 'a b c' | wc -w); echo $x",
            "ls \"$(git rev-parse --show-toplevel)/src\"",
            "d=$(dirname src/main.js); ls $d",
            "for i in 1 2 3; do printf '%s ' $i; done",
            "x=; for f in src/main.js README.md; do x=\"$x $f\"; done; cat $x",
            "for f in src/*.js; do files+=(\"$f\"); done; cat \"${files[@]}\"",
            "for i in $(seq 1 3); do s=\"$s$i\"; done; cat \"$s.txt\"",
            "d=src; f=$d/main.js; for i in 1 2; do g=$f; cat $g; done",
            "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); cat src/$i.js; done",
            "a=(src/main.js README.md); printf '%s\\n' \"${a[@]}\" | xargs cat",
            "f() { while read -r x; do cat \"$x\"; done; }; echo README.md | f",
        ],
    );
}

/// The project has links `escape` and `escape-file` that lead out of it.
#[test]
fn names_that_the_shell_makes_of_a_text_may_be_those_of_links() {
    judge_all(
        &strict(),
        false,
        &[
            "x=escape-filex; cat ${x:0:11}",
            "x=xescape-file; cat ${x:1}",
            "x=xescape-file; y=${x:1}; cat \"$y\"",
            "x=escape; ls ${x:0:6}/",
            "x=escape; cat ${x:0:6}/secret.txt",
            "x=escape-fil; cat ${x:0:10}e",
            "cat $(printf '%.11s' escape-filex)",
            "printf '%.11s' escape-filex | xargs cat",
            "read -r x < <(printf '%.11s' escape-filex); cat $x",
            "[[ xescape-file =~ e.* ]]; cat ${BASH_REMATCH[0]}",
            "x=escapeX-file; cat ${x/[A-Z]/}",
            "f=escape-filex; cat < ${f:0:11}",
            "x=escapex; grep -r a ${x:0:6}",
            "ls $(basename x/..)",
            "ls $(basename -a a x/..)",
            "cat $(basename x/escape-file)",
            "x=scape-file; cat ${x/s/e&}",
            "x=etc; cat ${x/e//&}/passwd",
            "x=etc; echo ${x/e//&}/*",
            "echo \"'escape'-file\" | xargs cat",
            "echo \".'.'/x\" | xargs cat",
            "xargs cat <<< 'es\\cape-file'",
            "cat [\"e\"]scape-file",
            "cat [!\"a\"]scape-file",
            "x='\\escape*'; cat $x",
            "x='\\/etc/passw*'; cat $x",
            "cat $(printf '%(/etc/passwd)T')",
            "printf -v x '%(/etc/passwd)T' 0; cat $x",
            "cat $(printf '%(escape-file)T')",
            "cat $(printf '%b' '\\u002fetc/passwd')",
            "echo x > [\"e\"]scape-file",
            "tee [\"e\"]scape-file < README.md",
            "cp README.md [\"e\"]scape",
            "echo x > .[\"g\"]it/config",
            "echo x > .[\"a\"]utonoe/status.json",
            "cd [\"e\"]scape && ls",
            "cat $(dirname $PWD)/x",
            "d=$(dirname \"$(pwd)\"); cat \"$d\"/x",
            "cat $(basename escape-file.txt .txt)",
            "cat $(printf '%b' \"\\u00$((2))fetc/passwd\")",
            "x=R; grep -${x/R/&} x .",
            "x=R; grep ${x/R/-&} x .",
            "grep $(printf '\\u002dR') x .",
            "echo \"-'R' x .\" | xargs grep",
            "cat e{s..s}cape-file",
            "cat e{r..t}cape-{f..f}ile",
            "for f in e{s..s}cape-file; do cat $f; done",
            "a=(e{s..s}cape-file); cat ${a[0]}",
            "cat < e{s..s}cape-file",
            "echo e{s..s}cape/*",
            "echo /{e..e}tc/*",
            "ls pkg/o{u..u}t/",
            "cat $(printf '%b' '\\u0065scape-file')",
            "cat $(echo -e '\\U00000065scape-file')",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "cat \"$f\" $(git ls-files) src/$x",
            "x=src; for f in $(ls $x); do cat $x/$f; done",
            "for f in a b; do cat $f.txt; done",
            "for f in src/*.js; do cat ${f%.js}.ts; done",
            "cat $(basename src/a.js)",
            "x=a.txt; cat src/${x:0:5}",
            "for i in {1..3}; do cat page$i.txt; done",
            "cat page{01..12}.txt src/{a..c}.js page$((1 + 1)).txt",
            "for ((i = 0; i < 3; i++)); do head -1 page$i.txt; done",
        ],
    );
}

#[test]
fn patterns_list_no_names_outside() {
    judge_all(
        &strict(),
        false,
        &[
            "echo /etc/*",
            "printf '%s\\n' /etc/pass*",
            "for f in /etc/*; do echo $f; done",
            "x='/etc/*'; echo $x",
            "a=(/etc/*); echo hi",
            "set -- /etc/*; echo $1",
            "echo escape/*",
            "echo pkg/out/*",
            "echo */out/*",
            "echo ../*",
            "true \"$x\"/etc/*",
            "echo ~/*",
            "echo ~+/escape/*",
            "echo ~root/.b*",
            "cd src; echo ~-/escape/*",
            "echo $HOME/*",
            "echo ${PWD:0:1}etc/*",
            "echo ${HOME%/*}/*",
            "echo ${x:-~root}/.b*",
            "echo $(echo ~)/*",
            "f() { echo $1/*; }; f $HOME",
            "x='/\\etc/*'; echo $x",
            "x=~; echo $x/*",
            "echo $OLDPWD/etc/*",
            "for f in ~/*; do echo $f; done",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "echo src/*.js *.md /usr/lib/*",
            "echo '/etc/*' \"../*\"",
            "for f in src/* ./*; do echo $f; done",
            "for f in pkg/*; do echo $f; done",
            "curl -s 'http://localhost:1/x?y=*'",
            "echo /api/v1/* http://x/y?z",
            "echo $((2 * 3)) 2/*",
        ],
    );
}

#[test]
fn numbers_and_names_with_dashes_may_be_links() {
    let strict = strict();
    let root = strict.project.root.clone();
    for link in ["link1", "-dash", "src/12", "lib/only.js"] {
        std::fs::create_dir_all(root.join("lib")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join(link)).unwrap();
    }
    judge_all(
        &strict,
        false,
        &[
            "cat link$((2 - 1))",
            "x=a; cat link${#x}",
            "cat link$#",
            "cat src/$((3 * 4))",
            "for ((i = 0; i < 3; i++)); do cat link$i; done",
            "i=0; ((i++)); cat link$i",
            "let i=1; cat link$i",
            "printf -v i %d 1; cat link$i",
            "cat $(printf link%d 1)",
            "cat link{1..3}",
            "cat link$SHLVL",
            "cat -- -dash",
            "head -- -*",
            "x=-dash; cat -- $x",
            "diff lib src",
            "x=lib; diff $x src",
        ],
    );
    judge_all(
        &strict,
        true,
        &[
            "head -n 3 src/a.js",
            "diff --no-dereference lib src",
            "diff src/a.js README.md",
            "cat page$((1)).txt",
        ],
    );
}

#[test]
fn variables_that_may_not_be_set_are_empty() {
    judge_all(
        &strict(),
        false,
        &[
            "cat $x/etc/passwd; x=src",
            "x=src cat $x/etc/passwd",
            "false && x=src; cat $x/etc/passwd",
            "true || x=src && cat $x/etc/passwd",
            "if false; then x=src; fi; cat $x/etc/passwd",
            "(x=src); cat $x/etc/passwd",
            "x=src | cat $x/etc/passwd",
            "x=src; unset x; cat $x/etc/passwd",
            "for x in $(ls nothing); do :; done; cat $x/etc/passwd",
            "f() { cat $x/etc/passwd; }; f; x=src",
            "case a in b) x=src;; esac; cat $x/etc/passwd",
            "echo $x/etc/*; x=src",
            "x=src & cat $x/etc/passwd",
            "x=(src); cat ${x[1]}/etc/passwd",
            "x=(src); x=(); cat $x/etc/passwd",
            "x=src; read x < /dev/null; cat $x/etc/passwd",
            "x=src; mapfile -t x < /dev/null; cat $x/etc/passwd",
            "set -- src; shift; cat $1/etc/passwd",
            "n=; case x in ${n:=/etc/passwd}) ;; esac; cat $n",
            "a=(. .); d=${a[*]}; cat src/${d/ /}/../x",
            "a=('' etc passwd); d=\"${a[*]}\"; cat \"${d// //}\"",
            "d=a; e=a; g=a; h=a; k=a; l=a; m=a; n=a; for i in 1 2 3 4 5 6 7 8 9; do cat $d; d=$e; e=$g; g=$h; h=$k; k=$l; l=$m; m=$n; n=/etc/passwd; done",
            "n='#/etc/passwd'; cat ${n#'#'}",
            "n=$(echo a /etc); cat ${n#'a '}/passwd",
            "cat $(basename --suffix=.js escape-file.js)",
        ],
    );
    judge_all(
        &strict(),
        true,
        &[
            "x=src; cat $x/etc/passwd",
            "export x=src; (cat $x/etc/passwd)",
            "x=src && cat $x/etc/passwd | head -1",
            "for x in src lib; do cat $x/etc/passwd; done",
            "if true; then d=src; else d=lib; fi; cat $d/a.js \"$d/b.js\"",
            "case x in x) d=src;; esac; cat $d/a.js",
            "f() { cat $1/a.js; }; f src; a=(src lib); cat ${a[0]}/a.js",
        ],
    );
}

/// What a script makes of its variables is not known well enough to write by it.
#[test]
fn files_of_computed_names_are_not_written() {
    judge_all(
        &strict(),
        false,
        &[
            "echo x > $out",
            "echo x > $d/etc/x; d=src",
            "out=../x; echo x > $out",
            "for d in src .git; do echo x > $d/config; done",
            "for i in $(ls); do echo x > src/$i; done",
            "d=escape; echo x > $d/x",
            "d=git; echo x > .$d/config",
            "read -r out < README.md; echo x > $out",
            "d=src; cp README.md $d/",
            "declare -n r=x; x=../y; echo a > $r",
            "n=; case x in ${n:=../.git/x}) ;; esac; echo x > src/$n",
            "n=; case x in a|${m:-${n:=../.git/x}}) ;; esac; echo x > src/$n",
            "a=(. .); d=${a[*]}; echo x > src/${d/ /}/y",
            "a=(. .); declare d=\"${a[*]}\"; echo x > src/${d/ /}/y",
            "a=(. .); : ${d:=${a[*]}}; echo x > src/${d/ /}/y",
            "a=(. .); d=$(echo ${a[@]}); echo x > src/${d/ /}/y",
            "for d in \"${a[*]}\"; do echo x > src/${d/ /}/y; done; a=(. .)",
            "RANDOM=src; echo x > $RANDOM/y",
            "set -- . .; d=\"$*\"; echo x > src/${d/ /}/y",
            "d=a; e=a; g=a; h=a; k=a; l=a; m=a; n=a; for i in 1 2 3 4 5 6 7 8 9; do echo x > src/$d; d=$e; e=$g; g=$h; h=$k; k=$l; l=$m; m=$n; n=../../y; done",
            "d=a; e=a; g=a; h=a; k=a; l=a; for i in 1 2 3 4 5 6 7; do echo x > .$d/config; d=$e; e=$g; g=$h; h=$k; k=$l; l=git; done",
            "for c in a u t o n o e; do x=$x$c; done; echo x > .$x/status.json",
            "f() { echo x > $1; }; f ../y",
            "for i in a b; do echo x > src/$i.txt; done",
        ],
    );
}
