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
