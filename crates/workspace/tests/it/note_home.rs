//! The note of an agent comes home, and nothing that the user has written there is lost.

use std::fs;
use std::os::unix::fs::symlink;

use autonoe_workspace::{Settled, SiteEvent, SiteOptions, Start, WorkspaceSite};

use crate::fixture::{HubFixture, write};

const NOTE: &str = ".autonoe-note.md";

async fn site(fixture: &HubFixture) -> WorkspaceSite {
    let options = SiteOptions::default();
    WorkspaceSite::prepare(fixture.hub.clone(), 1, Start::New, options, &Settled::default()).await.unwrap()
}

/// Ends a session in which the agent has written this note, if any.
async fn end_session(site: &mut WorkspaceSite, note: Option<&str>) -> Vec<SiteEvent> {
    if let Some(note) = note {
        write(&site.workspace.tree().join(NOTE), note);
    }
    site.session_ended(1, &Settled::default()).await.unwrap()
}

#[tokio::test]
async fn the_agents_note_replaces_one_that_the_agent_has_seen() {
    let fixture = HubFixture::new().await;
    fixture.write(NOTE, "from before\n");
    let mut site = site(&fixture).await;
    for note in ["one\n", "two\n"] {
        assert_eq!(end_session(&mut site, Some(note)).await, []);
        assert_eq!(fixture.read(NOTE), note);
    }
}

#[tokio::test]
async fn a_note_that_the_user_edits_during_a_session_stays_and_the_agent_sees_it() {
    for before in [Some("from before\n"), None] {
        let fixture = HubFixture::new().await;
        before.iter().for_each(|note| fixture.write(NOTE, note));
        let mut site = site(&fixture).await;
        fixture.write(NOTE, "the user's\n");
        assert_eq!(end_session(&mut site, None).await, [], "the agent has written nothing");
        assert_eq!(fixture.read(NOTE), "the user's\n");
        assert_eq!(end_session(&mut site, Some("the agent's\n")).await, [SiteEvent::NoteAppended]);
        let both = "the user's\n\n---\n\nthe agent's\n";
        assert_eq!(fixture.read(NOTE), both);
        assert_eq!(fs::read_to_string(site.workspace.tree().join(NOTE)).unwrap(), both);
        assert_eq!(end_session(&mut site, None).await, []);
        assert_eq!(fixture.read(NOTE), both);
        assert_eq!(end_session(&mut site, Some("next\n")).await, [], "the agent has seen the user's text");
        assert_eq!(fixture.read(NOTE), "next\n");
    }
}

#[tokio::test]
async fn what_the_user_puts_in_place_of_the_note_is_not_replaced() {
    let fixture = HubFixture::new().await;
    let mut site = site(&fixture).await;
    symlink("a.txt", fixture.path(NOTE)).unwrap();
    let events = end_session(&mut site, Some("the agent's\n")).await;
    assert!(matches!(events.as_slice(), [SiteEvent::NoteKept { .. }]), "{events:?}");
    assert!(fixture.path(NOTE).is_symlink());
}
