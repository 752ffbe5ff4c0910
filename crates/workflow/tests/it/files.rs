use std::fs;
use std::os::unix::fs::symlink;

use autonoe_workflow::machine::MAX_FILE_BYTES;
use autonoe_workflow::{HostEffects, faults};

use crate::support::Bench;

#[tokio::test]
async fn a_file_of_the_project_is_read_and_a_missing_one_is_none() {
    let bench = Bench::new();
    bench.file("state", "done\n");
    fs::write(bench.machine.root.join("bytes"), b"a\xffb").unwrap();
    symlink("state", bench.machine.root.join("link")).unwrap();
    for (path, expected) in [
        ("state", Some("done\n")),
        ("agents/../state", Some("done\n")),
        ("link", Some("done\n")),
        ("bytes", Some("a\u{fffd}b")),
        ("missing", None),
        ("no/such/file", None),
        ("state/below", None),
    ] {
        assert_eq!(bench.machine.file(path).await.unwrap().as_deref(), expected, "{path}");
    }
}

#[tokio::test]
async fn nothing_but_ordinary_files_of_the_project_is_read() {
    let bench = Bench::new();
    let root = &bench.machine.root;
    fs::write(bench.dir.path().join("secret"), "secret").unwrap();
    symlink(bench.dir.path().join("secret"), root.join("link")).unwrap();
    symlink("..", root.join("way")).unwrap();
    symlink("/dev/zero", root.join("endless")).unwrap();
    bench.file("long", &"x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1));
    let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(pipe.success());
    let absolute = root.join("long");
    for (path, why) in [
        ("../secret", "out of the project"),
        ("link", "out of the project"),
        ("way/secret", "out of the project"),
        ("endless", "out of the project"),
        ("agents", "not a regular file"),
        ("pipe", "not a regular file"),
        ("long", "larger than 1 MiB"),
        ("", "relative"),
        ("a\0b", "relative"),
        (absolute.to_str().unwrap(), "relative"),
    ] {
        let fault = bench.machine.file(path).await.expect_err(path);
        assert_eq!(fault.code, faults::COMPLETION.code);
        assert!(fault.message.contains(why) && !fault.message.contains("secret:"), "{path}: {fault}");
        assert!(fault.hint.is_some());
    }
}
