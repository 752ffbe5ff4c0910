//! `autonoe report`: a run as one page in Markdown and HTML, with everything that agents wrote escaped.

use std::fs;
use std::process::Output;

use serde_json::json;

use super::support::{CliTestProject, always, assert_script_followed, model};

/// A secret by its shape, and markup that must be escaped.
const SECRET: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
const EVIL: &str = "<script>alert(1)</script>";

const SPEC: &str =
    "# Calc\n\n```check A name=adds criteria=1\n$ sh calc.sh add 2 3\n5\n...\n```\n\n- Check: `true` for B\n";

const TURNS: &str = r#"
    [[conversation.turn]]
    call = [
      { tool = "Write", input = { file_path = "calc.sh", content = "echo $(($2 + $3))\necho '```'\necho '# no heading <script>alert(1)</script>'\necho 'token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'\n" } },
      { tool = "Write", input = { file_path = ".gitattributes", content = "*.sh -diff\n" } },
      { tool = "Bash", input = { command = "git add calc.sh .gitattributes && git commit -qm 'Add <script>alert(1)</script>'" } },
      { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
      { tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "passed" } },
      { tool = "mcp__autonoe__set_status", input = { deliverableId = "C", status = "blocked", reason = "no key; Ann has it" } },
    ]
    [[conversation.turn]]
    expect = ["verified", "proves nothing", "marked as blocked"]
    text = "done"
"#;

/// A project after one run in which A was verified, B claimed and C blocked.
fn built() -> CliTestProject {
    let project = CliTestProject::new();
    let deliverable = |id: &str, description: &str, criteria: &[&str]| json!({ "id": id, "description": description, "acceptanceCriteria": criteria, "passed": false, "blocked": false });
    let status = json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": [
        deliverable("A", "It adds", &["2 and 3 are 5", "it is fast"]),
        deliverable("B", EVIL, &["- `x` | *y*"]),
        deliverable("C", "It mails", &["a mail arrives"]),
    ]});
    project.write(".autonoe/status.json", &status.to_string());
    project.write("SPEC.md", SPEC);
    project.git(&["init", "-q", "-b", "main", "."]);
    project.git(&["add", "SPEC.md"]);
    project.git(&["commit", "-qm", "what was there before"]);
    let model = model(&always(TURNS));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    project
}

fn report(project: &CliTestProject, args: &[&str]) -> Output {
    project.autonoe(None).arg("report").args(args).output().expect("started")
}

fn page(project: &CliTestProject, args: &[&str]) -> String {
    let output = report(project, args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing or out of order in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_report_is_one_page_in_markdown_and_html() {
    let project = built();
    // As after an independent review.
    let mut status: serde_json::Value =
        serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    status["deliverables"][1]["review"] = json!({
        "by": "codex:other", "holds": false, "reason": "y <b>is</b> missing", "at": "2026-01-02T03:04:05Z",
    });
    project.write(".autonoe/status.json", &status.to_string());

    let text = page(&project, &[]);
    assert_in_order(
        &text,
        &[
            "# project: run 1 of 20",
            "All achievable deliverables passed. 2 passed: 1 verified (1 with criteria that no check covers), 1 claimed.",
            "**Exit code**: 0\n",
            "**Cost**: $",
            "**Sessions**: 1\n",
            "## Decisions for you",
            "The check `calc` does not count: it passed before the work began",
            "`B` passed, but codex:other doubts it: y &lt;b&gt;is&lt;/b&gt; missing",
            "`C` is blocked: It mails.",
            "## Deliverables",
            "### **verified, 1 of 2 criteria checked, no check for 2** A: It adds",
            "**Checked**: commit `",
            "**Built by**: native, ",
            "1. 2 and 3 are 5 (checked by `adds`)\n",
            "2. it is fast **no check**\n",
            "#### **passed** Check adds",
            "```sh\nsh calc.sh add 2 3\n```\n",
            "**Before the work**: failed first",
            "**Exit code**: 0 (expected 0)",
            "````text\n5\n```\n# no heading <script>alert(1)</script>\ntoken [redacted: ",
            "\n````\n",
            "### **claimed** B: &lt;script&gt;alert(1)&lt;/script&gt;",
            "**Reviewed**: **doubted** by codex:other",
            "1. \\- \\`x\\` | \\*y\\* **no check**",
            "**Before the work**: vacuous",
            "**Covers**: the deliverable as a whole",
            "### **blocked** C: It mails",
            "- **Status**: blocked\n",
            "1. a mail arrives **no check**",
            "## Backends",
            "| native | ",
            "## Sessions",
            "| 1 | coding | native | ",
            " | completed | ",
            "## Changes",
            "` Add &lt;script&gt;alert(1)&lt;/script&gt;\n",
            "| `calc.sh` | +4 | ",
            "````diff\nnew file mode 100644\n@@ -0,0 +1,4 @@\n+echo $(($2 + $3))\n",
        ],
    );
    assert!(!text.contains("what was there before"), "it was not part of the run:\n{text}");
    assert!(!text.contains(SECRET), "{text}");

    let file = project.path("page.html");
    assert_eq!(page(&project, &["--output", "page.html"]), "");
    let html = fs::read_to_string(file).expect("written");
    assert_in_order(
        &html,
        &[
            "<!doctype html>",
            "<h1>project: run 1 of 20",
            "2 passed: 1 verified (1 with criteria that no check covers), 1 claimed.</p>",
            "<dt>Exit code</dt><dd>0</dd>",
            "<h2>Decisions for you</h2>",
            "y &lt;b&gt;is&lt;/b&gt; missing",
            "<strong class=\"badge good\">verified, 1 of 2 criteria checked, no check for 2</strong> A: It adds",
            "<li>it is fast <strong class=\"badge open\">no check</strong></li>",
            "5\n```\n# no heading &lt;script&gt;alert(1)&lt;/script&gt;\ntoken [redacted: ",
            "<strong class=\"badge open\">claimed</strong> B: &lt;script&gt;",
            "<strong class=\"badge open\">blocked</strong> C: It mails",
            "<h2>Sessions</h2>",
            "Add &lt;script&gt;alert(1)&lt;/script&gt;",
            "<span class=\"added\">+echo $(($2 + $3))</span>",
            "</html>",
        ],
    );
    assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains(SECRET), "{html}");
    assert!(page(&project, &["--format", "html", "--run", "1"]).starts_with("<!doctype html>"));
    page(&project, &["--format", "markdown", "-o", "page.html"]);
    assert!(fs::read_to_string(project.path("page.html")).expect("written").starts_with("# project"));
}

#[test]
fn a_run_shows_its_own_changes_and_no_later_ones() {
    let project = built();
    project.write("later.txt", "later\n");
    project.git(&["add", "later.txt"]);
    project.git(&["commit", "-qm", "after the run"]);
    let model = model(&always("[[conversation.turn]]\ntext = \"nothing to do\""));
    project.run(&model, &["run"]);

    let first = page(&project, &["--run", "1"]);
    assert!(first.contains("their current state") && first.contains("`calc.sh`"), "{first}");
    assert!(!first.contains("later.txt") && !first.contains("after the run"), "{first}");
    let second = page(&project, &[]);
    assert!(second.contains(": run 2 of") && second.contains("The run made no commits."), "{second}");
    assert!(!second.contains("calc.sh` |") && !second.contains("later.txt"), "{second}");
}

#[test]
fn a_project_can_be_a_subdirectory_of_a_shallow_clone() {
    let project = CliTestProject::new();
    let origin = project.home().join("origin");
    fs::create_dir_all(origin.join("part")).expect("directory");
    fs::write(origin.join("part/SPEC.md"), "# Spec\n\nBuild A.\n").expect("written");
    project.git_in(&origin, &["init", "-q", "-b", "main", "."]);
    for subject in ["long ago", "before"] {
        project.git_in(&origin, &["add", "."]);
        project.git_in(&origin, &["commit", "-qm", subject]);
        fs::write(origin.join("beside.txt"), "beside\n").expect("written");
    }
    fs::remove_file(project.path("SPEC.md")).expect("removed");
    let url = format!("file://{}", origin.display());
    project.git(&["clone", "-q", "--depth", "1", &url, "."]);
    let deliverable = json!({
        "id": "A", "description": "a", "acceptanceCriteria": ["a"], "passed": false, "blocked": false,
    });
    let status =
        json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": [deliverable] });
    project.write("part/.autonoe/status.json", &status.to_string());
    let model = model(&always(
        r#"[[conversation.turn]]
           call = [
             { tool = "Bash", input = { command = "echo new > new.txt && git add -A . && git commit -qm inside" } },
             { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
           ]
           [[conversation.turn]]
           expect = "claimed"
           text = "done""#,
    ));
    project.run(&model, &["run", "--project-dir", "part"]).assert_ended("all_passed", 0);
    assert_script_followed(&model);

    let text = page(&project, &["--project-dir", "part"]);
    assert_in_order(&text, &["` inside\n", "| `part/new.txt` | +1 |", "```diff", "+new\n"]);
    for other in ["` before", "` long ago", "beside.txt", "status.json"] {
        assert!(!text.contains(other), "{other} is not part of it:\n{text}");
    }
}

#[test]
fn without_a_repository_the_changes_are_reported_as_unknown() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let model = model(&always("[[conversation.turn]]\ntext = \"nothing to do\""));
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
    let text = page(&project, &[]);
    assert_in_order(
        &text,
        &[
            "1 passed: 0 verified, 1 claimed",
            "There were no sessions.",
            "The changes cannot be shown: there is no git repository.",
        ],
    );
}

#[test]
fn invalid_input_is_reported_in_one_sentence() {
    let project = CliTestProject::new();
    let refused = |project: &CliTestProject, args: &[&str], wanted: &str| {
        let output = report(project, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(wanted), "{stderr:?} lacks {wanted:?}");
        assert_eq!(stderr.lines().filter(|line| line.starts_with("error:")).count(), 1, "{stderr}");
        assert_eq!(output.stdout, b"", "nothing was written");
    };
    refused(&project, &[], "There are no runs");
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let model = model(&always("[[conversation.turn]]\ntext = \"nothing to do\""));
    project.run(&model, &["run"]);
    refused(&project, &["--run", "9"], "There is no run 9.");
    refused(&project, &["--run", "0"], "--run");
    refused(&project, &["--run", "soon"], "--run");
    refused(&project, &["--format", "pdf"], "markdown, html");
    refused(&project, &["-o", "no/such/directory.md"], "no/such/directory.md cannot be written");
    refused(&project, &["-o", "."], ". cannot be written");
}
