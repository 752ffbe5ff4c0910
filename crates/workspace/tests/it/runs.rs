//! Runs in a workspace, as the tests begin them.

use autonoe_workspace::{LandWhen, Settled, SiteOptions, Start, WorkspaceSite};

use crate::fixture::HubFixture;

pub async fn run(fixture: &HubFixture, number: i64) -> WorkspaceSite {
    let options = SiteOptions { when: LandWhen::Never, ..SiteOptions::default() };
    WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &Settled::default())
        .await
        .unwrap()
}

pub async fn run_landing(fixture: &HubFixture, number: i64) -> WorkspaceSite {
    let options = SiteOptions { when: LandWhen::Passed, ..SiteOptions::default() };
    WorkspaceSite::prepare(fixture.hub.clone(), number, Start::New, options, &Settled::default())
        .await
        .unwrap()
}

/// The subjects of the commits in the workspace that are not the user's.
pub fn ahead(fixture: &HubFixture, site: &WorkspaceSite) -> String {
    let head = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git_in(&site.workspace.tree(), &["log", "--format=%s", &format!("{head}..HEAD")])
}

/// The first run commits a file, which does not land.
pub async fn left_by_a_run(fixture: &HubFixture, file: &str) {
    let mut site = run(fixture, 1).await;
    fixture.work(&site.workspace, &[(file, "agent\n")]);
    site.run_ended(&Settled::default()).await.unwrap();
}
