use std::collections::BTreeMap;

use super::PathWalk;

fn links(links: &[(&str, &str)]) -> BTreeMap<String, String> {
    links.iter().map(|(path, target)| (path.to_string(), target.to_string())).collect()
}

#[test]
fn only_paths_through_a_link_count_in_commands() {
    let links = links(&[("app", "packages/app"), ("v2", "e/v2"), ("bin", "tools"), ("sub/lib", "sub/x")]);
    for (command, found) in [
        ("cd app && sh ../tests/run.sh", "app"),
        ("cd 'app'; ls", "app"),
        ("cd \"app\"/x; ls", "app"),
        ("cd -P ./app || exit 1; ls", "app"),
        ("make -C app test", "app"),
        ("make -Capp test", "app"),
        ("make --directory=app", "app"),
        ("npm --prefix app test", "app"),
        ("python3 -m unittest discover -s \"$TOP/app/tests\"", "app"),
        ("$(pwd)/app/x", "app"),
        ("`pwd`/app/x", "app"),
        ("cat \"$(cat app/name)\"", "app"),
        ("sh -c 'cd app && ls'", "app"),
        ("cd ap* && ls", "app"),
        ("cd {app,web} && ls", "app"),
        ("cd packages/../app", "app"),
        ("cd packages && cat ../app/x", "app"),
        ("(cd packages && ls); cat app/x", "app"),
        ("cd packages & cat app/x", "app"),
        ("cd \"$D\" && cat app/x", "app"),
        ("cd - && cat lib/x", "sub/lib"),
        ("cd sub && cat lib/x", "sub/lib"),
        ("make -C sub lib/x", "sub/lib"),
        ("PATH=bin:$PATH calc", "bin"),
        ("cc -Ibin calc.c > /dev/null 2>&1", "bin"),
        ("cat < app/x", "app"),
        ("cat packages/app/x", ""),
        ("cat releases/v2/x", ""),
        ("/usr/bin/env sh bin2/x", ""),
        ("cd packages && cat app/x", ""),
        ("cd packages || exit 1; cat app/x", ""),
        ("cd packages && ls 2>&1 && cat app/x", ""),
        ("cd /tmp && cat app/x", ""),
        ("cd && cat app/x", ""),
        ("cat ~/app/x ../app/x", ""),
        ("cat lib/x", ""),
        ("cd \"$D\" && cat releases/v2/x", ""),
        ("echo \"app ok\"", ""),
        ("echo app && printf '%s' app/x >&2", ""),
        ("if true; then echo app; fi", ""),
        ("test \"$(cat x)\" = app && [ app != y ]", ""),
        ("./calc > out; grep -q app out", ""),
        ("cd \"$(pwd)\" && cd $PWD && cat releases/v2/x", ""),
        ("cd \"$PWD/packages\" && cat app/x", ""),
        ("D=packages; cd \"$D\" && cat app/x", ""),
        ("D=app; cd \"$D\"", "app"),
        ("export D=app && cat ${D}/x", "app"),
        ("sh -c 'D=app; cat $D/x'", "app"),
        ("D=packages; D=sub; cd $D; cat lib/x", "sub/lib"),
        ("D=packages ./x; cd $D; cat lib/x", "sub/lib"),
        ("test -n \"$D\" || D=packages; cd $D; cat lib/x", "sub/lib"),
        ("for D in packages sub; do cd $D; cat lib/x; done", "sub/lib"),
        ("cat $PWD/app/x ${PWD}/bin/y", "app bin"),
        ("echo app | xargs ls", "app"),
        ("echo app > list; xargs ls < list", "app"),
        ("echo app &> list; xargs ls < list", "app"),
        ("echo x > app/x", "app"),
        ("cd $(echo app)", "app"),
        ("cd \"$(echo app)\"", "app"),
        ("{ true; echo app; } | xargs ls", "app"),
        ("for i in 1; do echo app; done | xargs ls", "app"),
        ("f() { echo app; }; cat $(f)", "app"),
        ("echo \"$(cat app/x)\"", "app"),
        ("test -f app/x", "app"),
        ("grep -q x app/x", "app"),
        ("grep -qf app/x y", "app"),
        ("grep -e x -f app/x y", "app"),
        ("cd application", ""),
        ("sh app.sh", ""),
        ("", ""),
    ] {
        let mut walk = PathWalk::new("", &links);
        walk.follow_command(command);
        assert_eq!(walk.crossed.iter().copied().collect::<Vec<_>>().join(" "), found, "{command}");
    }
}

#[test]
fn only_paths_through_a_link_count_in_scripts() {
    let links = links(&[("app", "packages/app"), ("tests/lib", "e")]);
    for (script, found) in [
        ("cd app\nsh run.sh", "app"),
        ("for d in */; do sh $d/x; done", "app tests/lib"),
        ("subprocess.run(['make'], cwd='app')", "app"),
        ("open('app/data.txt')", "app"),
        ("os.chdir('app')", "app"),
        ("os.chdir(top)\nopen('lib/x')", "tests/lib"),
        ("os.chdir('other')\nopen('app2/x')", ""),
        ("make -C app", "app"),
        ("make -Capp", "app"),
        ("cd \"$(dirname \"$0\")/../app\"", "app"),
        ("cd \"$TOP\"/app", "app"),
        ("open(top + \"/app/x\")", "app"),
        ("require('../app/x.js')", "app"),
        (". lib/x.sh", "tests/lib"),
        ("cat packages/app/x", ""),
        ("cd packages\ncat other/app/x", ""),
        ("exec /usr/app/x '/app/y'", ""),
        ("# cd app\nls", ""),
        ("// app/x", ""),
        ("echo app ok", ""),
        ("echo \"app/x: failed\" >&2; exit 1", ""),
        ("fail() {\n  echo \"app/x failed\"\n  exit 1\n}\n./calc || fail", ""),
        ("cd \"$PWD\"\ncat releases/lib/x", ""),
        ("D=app\ncd \"$D\"\n", "app"),
        ("path() {\n  echo app/x\n}\ncat $(path)", "app"),
        ("for i in 1 2; do\n  echo app/$i\ndone | xargs cat", "app"),
        ("cat \"$(\necho app/x\n)\"", "app"),
        ("# don't\necho app/x", ""),
        ("{\"app\": 1}", ""),
    ] {
        let mut walk = PathWalk::new("", &links);
        walk.follow_script("tests/run.sh", script);
        assert_eq!(walk.crossed.iter().copied().collect::<Vec<_>>().join(" "), found, "{script}");
    }
}

#[test]
fn places_are_those_of_the_repository() {
    let links = links(&[("app", "packages/app"), ("packages/tests", "e"), ("shared", "e")]);
    for (command, found) in [
        ("cat ../shared/x", ""),
        ("cat ../part/shared/x", "shared"),
        ("cat ../../shared/x", ""),
        // Where a link leads, `..` is beside its target.
        ("cd app && sh ../tests/x", "app packages/tests"),
    ] {
        let mut walk = PathWalk::new("part/", &links);
        walk.follow_command(command);
        assert_eq!(walk.crossed.iter().copied().collect::<Vec<_>>().join(" "), found, "{command}");
    }
    // A script is where commands have gone.
    let mut walk = PathWalk::new("part/", &links);
    walk.follow_command("cd packages && sh ../run.sh");
    walk.follow_script("run.sh", "cat tests/x");
    assert_eq!(walk.crossed.into_iter().collect::<Vec<_>>(), ["packages/tests"]);
}
