//! Credentials of package managers in directories that a room can read, and sockets of daemons.

use std::fs;
use std::os::unix::net::UnixListener;

use autonoe_files::CREDENTIALS;
use autonoe_sandbox::{Bounds, SandboxLayer};

use crate::support::TestRoom;

const SECRET: &str = "<password>token-of-the-user</password>";

#[tokio::test]
async fn each_is_masked_in_a_readable_directory_and_the_rest_is_not() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let install = |bounds: &mut Bounds| {
            let home = bounds.root.with_file_name("outside");
            for credential in CREDENTIALS {
                let path = home.join(credential.path.replace('*', "1.2.3"));
                let directory = path.parent().unwrap();
                fs::create_dir_all(directory).unwrap();
                if !path.exists() {
                    fs::write(&path, SECRET).unwrap();
                }
                fs::write(directory.join("beside"), "of the tool").unwrap();
            }
            bounds.read.push(home);
        };
        let Some(test_room) = TestRoom::with_layer(layer, install).await else { continue };
        let found = test_room.run(r#"grep -rls token-of-the-user "$OUTSIDE" 2>/dev/null"#).await.1;
        assert_eq!(found, "", "{layer:?}");
        for credential in CREDENTIALS {
            let path = credential.path.replace('*', "1.2.3");
            let directory = std::path::Path::new(&path).parent().unwrap().display().to_string();
            let read = test_room.run(&format!("cat \"$OUTSIDE/{path}\"")).await.1;
            assert!(!read.contains("token-of-the-user"), "{layer:?}: {}: {path}", credential.tool);
            let beside = test_room
                .succeeds(&format!("cat \"$OUTSIDE/{directory}/beside\"; ls \"$OUTSIDE/{directory}\""))
                .await;
            assert!(beside.starts_with("of the tool"), "{layer:?}: {}: {beside}", credential.tool);
        }
    }
}

#[tokio::test]
async fn a_link_to_credentials_leads_to_nothing_and_what_the_user_named_can_be_read() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let install = |bounds: &mut Bounds| {
            let outside = bounds.root.with_file_name("outside");
            for directory in ["tool/etc", "other", ".aws", "linked"] {
                fs::create_dir_all(outside.join(directory)).unwrap();
            }
            fs::write(outside.join("other/npmrc"), SECRET).unwrap();
            std::os::unix::fs::symlink("../../other/npmrc", outside.join("tool/etc/npmrc")).unwrap();
            std::os::unix::fs::symlink("/nonexistent", outside.join("tool/.npmrc")).unwrap();
            fs::write(outside.join(".aws/config"), "chosen").unwrap();
            bounds.read = ["tool", "other", ".aws"].map(|name| outside.join(name)).into();
        };
        let Some(test_room) = TestRoom::with_layer(layer, install).await else { continue };
        for path in ["tool/etc/npmrc", "other/npmrc"] {
            let read = test_room.run(&format!("cat \"$OUTSIDE/{path}\"")).await.1;
            assert!(!read.contains("token-of-the-user"), "{layer:?}: {path}");
        }
        assert_eq!(test_room.succeeds("cat \"$OUTSIDE/.aws/config\"").await, "chosen", "{layer:?}");
    }
}

/// A mount over a file disappears when the file is replaced on the host, as programs do that change a login.
#[tokio::test]
async fn credentials_that_are_replaced_while_a_room_is_open_stay_masked() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let install = |bounds: &mut Bounds| {
            let outside = bounds.root.with_file_name("outside");
            for directory in [".aws", ".config/gh", "tool/bin"] {
                fs::create_dir_all(outside.join(directory)).unwrap();
            }
            for path in [".npmrc", ".aws/credentials", ".config/gh/hosts.yml"] {
                fs::write(outside.join(path), SECRET).unwrap();
            }
            fs::write(outside.join("tool/bin/program"), "of the tool").unwrap();
            std::os::unix::fs::symlink("tool/bin", outside.join("linked")).unwrap();
            bounds.read.push(outside);
        };
        let Some(test_room) = TestRoom::with_layer(layer, install).await else { continue };
        let outside = test_room.outside();
        for (path, aside) in [(".npmrc", ".npmrc.old"), (".aws", "aws.old"), (".config/gh", ".config/gh.old")]
        {
            let (path, aside) = (outside.join(path), outside.join(aside));
            fs::rename(&path, &aside).unwrap();
            match aside.is_dir() {
                true => {
                    fs::create_dir(&path).unwrap();
                    fs::write(path.join("credentials"), SECRET).unwrap();
                }
                false => fs::rename(&aside, &path).unwrap(),
            }
        }
        fs::write(outside.join("new"), SECRET).unwrap();
        fs::rename(outside.join("new"), outside.join(".npmrc")).unwrap();
        fs::write(outside.join(".netrc"), SECRET).unwrap();
        let found = test_room.run(r#"grep -rls token-of-the-user "$OUTSIDE" 2>/dev/null"#).await.1;
        assert_eq!(found, "", "{layer:?}");
        let read = test_room.succeeds("cat $OUTSIDE/linked/program $OUTSIDE/secret; ls -A $OUTSIDE").await;
        assert!(read.starts_with("of the toolthe secret"), "{layer:?}: {read}");
        test_room.fails("touch $OUTSIDE/mine 2>&1").await;
        test_room.fails("touch $OUTSIDE/.aws/mine 2>&1").await;
    }
}

/// With more entries than a room lists, they are covered.
#[tokio::test]
async fn credentials_among_many_files_are_masked() {
    let install = |bounds: &mut Bounds| {
        let outside = bounds.root.with_file_name("outside");
        (0..100).for_each(|number| fs::write(outside.join(number.to_string()), "").unwrap());
        fs::write(outside.join(".npmrc"), SECRET).unwrap();
        bounds.read.push(outside);
    };
    let Some(test_room) = TestRoom::with_layer(SandboxLayer::Bubblewrap, install).await else { return };
    let read = test_room.succeeds("cat $OUTSIDE/.npmrc 2>&1; ls $OUTSIDE | wc -l").await;
    assert!(read.ends_with("101\n") && !read.contains("token-of-the-user"), "{read}");
}

/// Covers are not places to keep something in.
#[tokio::test]
async fn what_covers_a_secret_directory_is_read_only() {
    let Some(test_room) = TestRoom::with_layer(SandboxLayer::Bubblewrap, |_| {}).await else { return };
    for directory in ["/etc/ssl/private", "/etc/sudoers.d", "/etc/wireguard"] {
        test_room.fails(&format!("touch {directory}/mine 2>&1")).await;
    }
}

/// Hidden paths in readable ones, such as our own state in a home directory that the user added.
#[tokio::test]
async fn hidden_paths_cannot_be_read() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let hide = |bounds: &mut Bounds| {
            let outside = bounds.root.with_file_name("outside");
            fs::create_dir_all(outside.join("state/deeper")).unwrap();
            fs::write(outside.join("state/deeper/journal"), "everything").unwrap();
            bounds.read = vec![outside.clone()];
            bounds.hidden = vec![outside.join("state")];
        };
        let Some(test_room) = TestRoom::with_layer(layer, hide).await else { continue };
        test_room.fails("cat $OUTSIDE/state/deeper/journal").await;
        assert_eq!(test_room.succeeds("cat $OUTSIDE/secret").await, "the secret", "{layer:?}");
    }
}

/// A read-only mount does not keep programs from connecting to a socket in it; it must not be there at all.
#[tokio::test]
async fn only_the_store_of_nix_is_there() {
    let Some(test_room) = TestRoom::with_layer(SandboxLayer::Bubblewrap, |_| {}).await else { return };
    let listed = test_room.run("ls /nix/var/nix /var/guix /gnu 2>/dev/null").await.1;
    assert!(!listed.contains("daemon-socket"), "{listed}");
    let path = test_room.outside().join("daemon.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    test_room.fails(&format!("test -S {}", path.display())).await;
}
