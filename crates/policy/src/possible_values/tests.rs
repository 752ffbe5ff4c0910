use super::PossibleValues;
use crate::shell::ast::{CommandKind, Simple};
use crate::shell::parse;
use crate::words::{Arg, ArgKind};

/// What the last word of a script may be; `None` if that is too much to list.
fn values(source: &str) -> Option<Vec<String>> {
    let script = parse(source).expect("parses");
    let last = script.list.0.last().expect("a command");
    let CommandKind::Simple(Simple { words, .. }) = &last.first.commands[0].kind else {
        panic!("not a simple command")
    };
    let mut arg = Arg::new("", ArgKind::Several);
    PossibleValues::of(&script, None).describe(words.last().expect("a word"), &mut arg);
    (!arg.may_be_too_many).then(|| arg.may_be.into_iter().map(|arg| arg.text).collect())
}

#[test]
fn words_may_be_what_the_script_makes_them() {
    for (source, expected) in [
        ("a=x; ls $a", &["x"][..]),
        ("a=x; b=$a/y; ls \"$b.js\"", &["x/y.js"]),
        ("b=$a; a=x; ls $b", &["", "x"]),
        ("a='x y'; ls $a", &["x", "x y", "y"]),
        ("a='x y'; ls \"$a\"", &["x y"]),
        ("a=x; a+=y; ls $a", &["x", "xy", "xyy", "xyyy", "y", "yy", "yyy"]),
        ("for a in x y{1,2}; do :; done; ls $a", &["", "x", "y1", "y2"]),
        ("a=(x y); ls \"${a[@]}\"", &["x", "y"]),
        ("ls ${a:-x}", &["", "x"]),
        ("a=xy; ls ${a%y}", &["x"]),
        ("a=x/y; ls ${a#x}", &["/y"]),
        ("a=b/c/d; ls ${a##*/}${a#*/}${a%/*}${a%%/*}", &["dc/db/cb"]),
        ("a='#b'; ls ${a#'#b'}${a#\\#}", &["b"]),
        ("a=bcd; ls ${a:1}x", &["\u{fffd}x"]),
        ("ls \"${PWD##*/}.md\"", &["\u{fffd}.md"]),
        ("ls ${PWD%/*}/x", &["../x"]),
        ("f() { :; }; f x; ls $1", &["", "x"]),
        ("ls \"$1/x\"", &["/x"]),
        (": x; ls $_", &["", "x"]),
        ("ls $(true && echo x)", &["", "x"]),
        ("ls $(printf a; printf b)", &["a", "ab"]),
        ("ls $PWD/x \"$PWD\"/y", &["./y"]),
        ("ls $HOME/x", &["~/x"]),
        ("ls $(echo -n x 'y')", &["x", "x y", "y"]),
        ("ls \"$(printf '%s/\\x79' x)\"", &["x/y"]),
        ("ls $(printf '%s,%s;' a b c)", &["a,b;c,;"]),
        ("ls $(cat x)", &["\u{fffd}"]),
        ("ls $TMPDIR/x", &["/x", "\u{fffd}/x"]),
    ] {
        assert_eq!(
            values(source).as_deref(),
            Some(&expected.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()[..]),
            "{source}"
        );
    }
}

#[test]
fn too_many_values_are_not_listed() {
    let long: String = (0..300).map(|n| format!(" v{n}")).collect();
    assert_eq!(values(&format!("for a in{long}; do :; done; ls $a")), None);
    assert_eq!(values("a={1,2}; for a in {1,2,3,4,5,6,7}; do :; done; ls $a$a$a"), None);
    let doubled = "x=\"$x$x\";".repeat(48);
    assert_eq!(values(&format!("x=aa;{doubled}ls $x")), None);
}
