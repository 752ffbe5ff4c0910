//! A place that a program of an earlier room has replaced by a link to other files is not shown, on any layer.

use std::fs;
use std::os::unix::fs::symlink;

use autonoe_sandbox::SandboxLayer;

use crate::support::TestRoom;

#[tokio::test]
async fn what_a_link_in_a_writable_place_leads_to_is_not_shown() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let opened = TestRoom::with_layer(layer, |bounds| {
            let base = bounds.root.parent().expect("a parent").to_owned();
            let (writable, outside) = (base.join("writable"), base.join("outside"));
            fs::create_dir_all(writable.join("kept")).expect("made");
            fs::write(writable.join("kept/file"), "kept").expect("written");
            for link in [writable.join("read"), writable.join("write"), bounds.root.join("tools")] {
                symlink(&outside, link).expect("linked");
            }
            symlink(writable.join("read"), base.join("users-link")).expect("linked");
            bounds.read = ["read", "kept"].map(|name| writable.join(name)).into();
            bounds.read.extend([bounds.root.join("tools"), base.join("users-link")]);
            bounds.write = vec![writable.clone(), writable.join("write")];
        });
        let Some(test_room) = opened.await else { continue };
        test_room.succeeds("cat ../writable/kept/file").await;
        for attempt in [
            "cat $OUTSIDE/secret",
            "cat ../writable/read/secret",
            "cat tools/secret",
            "echo x > $OUTSIDE/new",
        ] {
            test_room.fails(attempt).await;
        }
        let TestRoom { room, dir } = test_room;
        let notices = room.close().await.join("\n");
        for place in ["writable/read", "writable/write", "project/tools", "users-link"] {
            let named = format!("{} is in ", dir.path().join(place).display());
            assert!(notices.contains(&named), "{}: {place}: {notices}", layer.name());
        }
        assert!(!notices.contains("kept"), "{notices}");
    }
}
