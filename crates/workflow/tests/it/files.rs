use std::fs;
use std::os::unix::fs::symlink;

use autonoe_workflow::system_host::MAX_FILE_BYTES;
use autonoe_workflow::{HostEffects, faults};

use crate::host_fixture::HostFixture;

#[tokio::test]
async fn a_file_of_the_project_is_read_and_a_missing_one_is_none() {
    let fixture = HostFixture::new();
    fixture.file("state", "done\n");
    fs::write(fixture.host.root.join("bytes"), b"a\xffb").unwrap();
    symlink("state", fixture.host.root.join("link")).unwrap();
    for (path, expected) in [
        ("state", Some("done\n")),
        ("agents/../state", Some("done\n")),
        ("link", Some("done\n")),
        ("bytes", Some("a\u{fffd}b")),
        ("missing", None),
        ("no/such/file", None),
        ("state/below", None),
    ] {
        assert_eq!(fixture.host.file(path).await.unwrap().as_deref(), expected, "{path}");
    }
}

#[tokio::test]
async fn only_regular_files_of_the_project_are_read() {
    let fixture = HostFixture::new();
    let root = &fixture.host.root;
    fs::write(fixture.dir.path().join("secret"), "secret").unwrap();
    symlink(fixture.dir.path().join("secret"), root.join("link")).unwrap();
    symlink("..", root.join("way")).unwrap();
    symlink("/dev/zero", root.join("endless")).unwrap();
    fixture.file("long", &"x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1));
    let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(pipe.success());
    let absolute = root.join("long");
    for (path, why) in [
        ("../secret", "outside of the project"),
        ("link", "outside of the project"),
        ("way/secret", "outside of the project"),
        ("endless", "outside of the project"),
        ("agents", "not a regular file"),
        ("pipe", "not a regular file"),
        ("long", "larger than 1 MiB"),
        ("", "relative"),
        ("a\0b", "relative"),
        (absolute.to_str().unwrap(), "relative"),
    ] {
        let fault = fixture.host.file(path).await.expect_err(path);
        assert_eq!(fault.code, faults::COMPLETION.code);
        assert!(fault.message.contains(why) && !fault.message.contains("secret:"), "{path}: {fault}");
        assert!(fault.hint.is_some());
    }
}
