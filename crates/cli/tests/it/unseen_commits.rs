

#[test]
fn a_branch_with_the_users_own_commits_is_not_offered_for_removal() {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let model = model(&runs_and_passes("echo a > a.txt; git add a.txt; git commit -qm made"));
    project.run(&model, &["run", "--land", "never"]).assert_ended("all_passed", 0);
    project.git(&["checkout", "-q", "autonoe/1"]);
    project.commit(&[("mine.txt", "")]);
    project.git(&["checkout", "-q", "main"]);
    let discarded = command(&project, &["land", "--discard"], 0);
    let sentence = "Branch autonoe/1 still has them, and other commits after them, such as your own.";
    assert!(discarded.contains(sentence) && !discarded.contains("branch -D"), "{discarded}");
}
