//! The Skill tool: which skills are found, which are not, and the result of loading one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use autonoe_tools::{SkillTool, Tool, ToolContext, ToolErrorCode, ToolOutput};
use serde_json::json;

fn skill(directory: &Path, folder: &str, text: &str) {
    fs::create_dir_all(directory.join(folder)).unwrap();
    fs::write(directory.join(folder).join("SKILL.md"), text).unwrap();
}

fn valid(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}

async fn load(directories: &[PathBuf], name: &str) -> ToolOutput {
    SkillTool::in_directories(directories).call(json!({"skill": name}), &ToolContext::default()).await
}

#[tokio::test]
async fn skills_are_listed_and_loaded_and_the_first_directory_wins() {
    let (project, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    skill(project.path(), "review", &valid("review", "Reviews code", "Project's way"));
    skill(user.path(), "review", &valid("review", "Another", "User's way"));
    skill(user.path(), "deploy", &valid("deploy", ">-\n  Deploys\n  things", "Push the button"));
    let directories = [project.path().to_owned(), user.path().to_owned(), PathBuf::from("/no/such")];
    let description = SkillTool::in_directories(&directories).spec().description;
    assert!(
        description.ends_with("Available skills:\n- review: Reviews code\n- deploy: Deploys things"),
        "{description}"
    );
    let loaded = load(&directories, "review").await;
    let directory = project.path().canonicalize().unwrap().join("review");
    assert_eq!(
        loaded.output,
        format!("Skill review (its files are in {}):\n\nProject's way", directory.display())
    );
    assert!(load(&directories, "/deploy").await.output.ends_with("Push the button"));
}

#[tokio::test]
async fn invalid_skills_are_skipped() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    skill(dir.path(), "fine", &valid("fine", "d", "b"));
    skill(dir.path(), "crlf", &valid("crlf", "d", "b").replace('\n', "\r\n"));
    skill(dir.path(), "other-name", &valid("name", "d", "b"));
    skill(dir.path(), "No-Case", &valid("No-Case", "d", "b"));
    skill(dir.path(), "plain", "no front matter");
    skill(dir.path(), "silent", "---\nname: silent\n---\nb");
    skill(outside.path(), "linked", &valid("linked", "d", "the secret"));
    symlink(outside.path().join("linked"), dir.path().join("linked")).unwrap();
    fs::create_dir(dir.path().join("inner")).unwrap();
    symlink(outside.path().join("linked/SKILL.md"), dir.path().join("inner/SKILL.md")).unwrap();
    fs::create_dir_all(dir.path().join("folder/SKILL.md")).unwrap();
    fs::write(dir.path().join("file"), "x").unwrap();
    let missing = load(&[dir.path().to_owned()], "linked").await;
    assert_eq!(missing.error_code(), Some(ToolErrorCode::NotFound));
    assert_eq!(missing.output, "There is no skill linked. Available skills: crlf, fine.");
    assert!(SkillTool::in_directories(&[]).is_empty());
    assert!(SkillTool::in_directories(&[]).spec().description.ends_with("Available skills: none."));
}
