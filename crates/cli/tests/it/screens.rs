//! What a user sees: the screens of a project's life, recorded at three widths. `UPDATE_SCREENS=1` records them anew; look at each change.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use autonoe_scripted::ScriptedServer;

use super::fleet;
use super::support::{CliTestProject, builder, builds_with, model, until};

const WIDTHS: [u16; 3] = [40, 80, 120];

/// More than any screen has.
const ROWS: u16 = 400;

/// A terminal of a width, and what a program has shown on it.
struct Terminal {
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    /// Runs a command to its end on a terminal.
    fn show(command: Command, columns: u16) -> Self {
        Self::show_with(command, columns, "")
    }

    /// The same; `input` is typed at once, and read when the program wants to.
    fn show_with(mut command: Command, columns: u16, input: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("ready");
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("sized");
        let name = ptsname(&master, Vec::new()).expect("named").into_string().expect("text");
        let slave =
            File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).expect("opened");
        let another = || OwnedFd::from(slave.try_clone().expect("another"));
        command.env("TERM", "xterm-256color").stdin(another()).stdout(another()).stderr(another());
        let mut master = File::from(master);
        master.write_all(input.as_bytes()).expect("typed");
        let mut child = command.spawn().expect("started");
        // Only the program has the other side open now.
        drop((command, slave));
        let mut raw = Vec::new();
        // It ends with an error when nobody has the other side open any more.
        let _ = master.read_to_end(&mut raw);
        child.wait().expect("ended");
        let mut screen = vt100::Parser::new(ROWS, columns, 0);
        screen.process(&raw);
        Self { screen, raw }
    }

    fn text(&self) -> String {
        let (_, columns) = self.screen.screen().size();
        let rows: Vec<String> =
            self.screen.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    }

    /// Lines that the terminal breaks anywhere, since they are too long. A word that is longer than a line stays whole: it may be an address.
    fn broken_lines(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns).zip(0..).filter(|(_, row)| screen.row_wrapped(*row));
        rows.map(|(text, _)| text).filter(|text| text.trim().contains(' ')).collect()
    }

    fn has_colour(&self) -> bool {
        let raw = String::from_utf8_lossy(&self.raw);
        Regex::new(r"\x1b\[(1|2|3\d|9\d|38;)[;\d]*m").expect("valid").is_match(&raw)
    }
}

/// Replaces what differs from run to run by something of the same length.
fn stable(text: &str, project: &CliTestProject) -> String {
    let root = project.root().display().to_string();
    let name = Regex::new(r"\.tmp\w{6}").expect("valid").replace_all(&root, ".tmpABCDEF").into_owned();
    let mut text = text.replace(&root, &name);
    for (pattern, replacement) in [
        (r"\.tmp\w{6}", ".tmpABCDEF"),
        (r"\b\d\d:\d\d:\d\d\b", "12:00:00"),
        (r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "2026-01-01 12:00"),
        (r"\b20\d\d-\d\d-\d\d\b", "2026-01-01"),
        (r"\b\w{3} \d\d? \w{3} \d\d:\d\d UTC\b", "Mon 16 Nov 12:00 UTC"),
        (r"\b[0-9a-f]{10}\b", "0123456789"),
        (r"\b[0-9a-f]{7}\.\.\.", "0123456..."),
        (r"\bduration=\d+s", "duration=0s"),
        (r"\b[0-9](\.[0-9])?s\b", "0s"),
    ] {
        text = Regex::new(pattern).expect("valid").replace_all(&text, replacement).into_owned();
    }
    text
}

fn assert_recorded(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        fs::write(&file, text).expect("written");
    }
    let recorded = fs::read_to_string(&file).unwrap_or_default();
    assert!(recorded == text, "{name} differs from {}; it is now:\n{text}", file.display());
}

/// Plans two deliverables, builds the first, and cannot continue the second.
const SCRIPT: &str = r#"
[[conversation]]
when = "lay the foundation"
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
    { id = "ADD-001", description = "The program calc.sh adds two whole numbers that are given to it and prints their sum", acceptanceCriteria = ["sh calc.sh add 2 3 prints 5", "Wrong arguments give exit 2 and one sentence"] },
    { id = "TAX-001", description = "The program calc.sh asks the tax office for today's rate", acceptanceCriteria = ["sh calc.sh tax prints the rate"] },
  ] } }]
  [[conversation.turn]]
  text = "planned"
[[conversation]]
when = "one deliverable"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo 'echo $(($2 + $3))' > calc.sh; git add calc.sh; git commit -qm 'Add numbers'; git push" } },
          { tool = "Bash", input = { command = "echo 'echo $(($2 + $3))' > calc.sh && git add calc.sh && git commit -qm 'Add numbers'" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "ADD-001", status = "passed" } },
          { tool = "mcp__autonoe__set_status", input = { deliverableId = "TAX-001", status = "blocked", reason = "The address of the tax office is not in SPEC.md; its owner can give it, then calc.sh can ask it" } }]
  [[conversation.turn]]
  text = "done"
"#;

fn project() -> CliTestProject {
    let project = CliTestProject::below(Path::new("/tmp")).in_workspace();
    project.write(
        "SPEC.md",
        "# Calculator\n\nA program calc.sh for a shop.\n\n```check ADD-001 name=adds\n$ sh calc.sh add 2 3\n5\n```\n",
    );
    project.write(
        "../home/.config/autonoe/config.toml",
        "[notify.targets.desk]\nkind = 'command'\ncommand = ['true']\nevents = ['blocked', 'done']\n",
    );
    project.in_repository()
}

/// Every command that shows something, in the order of a project's life.
const SCREENS: [(&str, &[&str]); 14] = [
    ("plan", &["plan", "--backend", "native", "--session-delay", "0s"]),
    ("run", &["run", "--backend", "native", "--session-delay", "0s", "--max-cost", "5"]),
    ("logs", &["logs"]),
    ("notifications", &["notify", "list"]),
    ("status", &["status"]),
    ("checks", &["checks"]),
    ("sessions", &["sessions", "list"]),
    ("session", &["sessions", "show", "2.1"]),
    ("cost", &["cost"]),
    ("verify", &["verify"]),
    ("diff", &["diff"]),
    ("unblock", &["unblock", "TAX-001", "--note", "the address is in .env"]),
    ("typo", &["stauts"]),
    ("help", &["--help"]),
];

fn command(project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> Command {
    let mut command = project.autonoe(Some(model));
    command.args(args);
    command
}

#[test]
fn the_screens_of_a_project_are_as_recorded() {
    for columns in WIDTHS {
        let (project, model) = (project(), model(SCRIPT));
        for (name, args) in SCREENS {
            let terminal = Terminal::show(command(&project, &model, args), columns);
            assert_eq!(terminal.broken_lines(), Vec::<String>::new(), "{name} at {columns}");
            assert_recorded(&format!("{name}-{columns}"), &stable(&terminal.text(), &project));
        }
    }
}

/// A project with tests, and permissions to approve.
const SETTING_UP: [(&str, &[&str]); 4] = [
    ("init", &["init"]),
    ("trust", &["trust", "--yes"]),
    ("agent-init", &["agent", "init", "docs", "--from", "docs-writer"]),
    ("agent-show", &["agent", "show", "docs"]),
];

#[test]
fn the_screens_of_setting_up_are_as_recorded() {
    for columns in WIDTHS {
        let (project, model) = (CliTestProject::below(Path::new("/tmp")), model(SCRIPT));
        project.write("package.json", r#"{ "scripts": { "test": "node --test" } }"#);
        let project = project.in_repository();
        for (name, args) in SETTING_UP {
            let terminal = Terminal::show(command(&project, &model, args), columns);
            assert_eq!(terminal.broken_lines(), Vec::<String>::new(), "{name} at {columns}");
            assert_recorded(&format!("{name}-{columns}"), &stable(&terminal.text(), &project));
            project.write(
                ".autonoe/agent.json",
                r#"{ "allowCommands": ["docker", "terraform"], "permissions": { "allow": ["Bash(make deploy:*)"] } }"#,
            );
        }
    }
}

#[test]
fn a_run_in_the_background_is_shown_as_recorded() {
    for columns in [40, 80] {
        let project = CliTestProject::below(Path::new("/tmp"));
        project.write("SPEC.md", "# Calculator\n\nA program calc.sh for a shop.\n");
        let waiting = SCRIPT.replace(
            "command = \"echo 'echo $(($2 + $3))' > calc.sh && git",
            "command = \"touch waiting; while [ ! -f go ]; do sleep 0.05; done; echo 1 > calc.sh && git",
        );
        let model = model(&waiting);
        let mut start = command(&project, &model, &["run", "--detach", "--in-place", "--backend", "native"]);
        assert!(start.args(["--session-delay", "0s"]).status().expect("started").success());
        until("the first session works", || project.agents_path("waiting").exists());
        let go = project.agents_path("go");
        let going = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(700));
            fs::write(go, "").expect("written");
        });
        let terminal = Terminal::show(command(&project, &model, &["attach"]), columns);
        going.join().expect("written");
        assert_eq!(terminal.broken_lines(), Vec::<String>::new(), "at {columns}");
        assert_recorded(&format!("attach-{columns}"), &stable(&terminal.text(), &project));
    }
}

#[test]
fn the_harnesses_of_a_fleet_are_shown_as_recorded() {
    let rest = "\n## Aggregation\n- on_complete: merge_all\n";
    let project = fleet::project("- coordination: parallel", &[("api", ""), ("web", "- depends: api")], rest);
    let model = model(&["api", "web"].map(|id| builds_with(id, "", "")).concat());
    let run = fleet::up(&project, &model, &[]).output().expect("started");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    for columns in [40, 80] {
        let terminal = Terminal::show(command(&project, &model, &["fleet", "status", "--watch"]), columns);
        assert_eq!(terminal.broken_lines(), Vec::<String>::new(), "at {columns}");
        assert_recorded(&format!("fleet-status-{columns}"), &stable(&terminal.text(), &project));
    }
}

#[test]
fn questions_are_answered_on_a_terminal() {
    let (project, model) = (CliTestProject::empty(), model(&builder()));
    let run = |args: &[&str], input: &str| {
        let mut all = vec!["run", "--in-place", "--backend", "native", "--session-delay", "0s"];
        all.extend(args);
        Terminal::show_with(command(&project, &model, &all), 80, input).text()
    };
    let screen = run(&["Build three things"], "n\n");
    assert!(screen.contains("Write this SPEC.md and build it? [y/N]"), "{screen}");
    assert!(screen.contains("you did not agree to this"), "{screen}");
    assert!(!project.path("SPEC.md").exists());
    let screen = run(&["Build three things", "--approve-plan"], "y\nn\n");
    assert!(project.read("SPEC.md").contains("Build three things"));
    for part in [
        "Plan: 3 deliverable(s)",
        "Build this plan? [y/N]",
        "Not approved: `autonoe plan --edit` changes the plan.",
    ] {
        assert!(screen.contains(part), "no {part:?} in:\n{screen}");
    }
    assert!(project.statuses().iter().all(|(_, status)| *status == "pending"), "nothing is built");
    let screen = run(&["--approve-plan"], "y\n");
    assert!(screen.contains("All achievable deliverables passed."), "{screen}");
    assert!(!screen.contains("was left for an earlier run"), "{screen}");
}

#[test]
fn what_depends_on_the_machine_fits_too() {
    let (project, model) = (project(), model(SCRIPT));
    let run = &SCREENS[1].1;
    assert!(command(&project, &model, run).output().expect("started").status.success());
    for columns in WIDTHS {
        for args in [
            &["doctor"][..],
            &["init", "--help"],
            &["run", "--help"],
            &["policy", "check", "rm -rf /"],
            &["report"],
            &["sessions", "replay", "1.2"],
        ] {
            let terminal = Terminal::show(command(&project, &model, args), columns);
            assert_eq!(terminal.broken_lines(), Vec::<String>::new(), "{args:?} at {columns}");
        }
    }
}

#[test]
fn colours_are_only_for_those_who_want_them() {
    let (project, model) = (project(), model(SCRIPT));
    for (_, args) in &SCREENS[..2] {
        let output = command(&project, &model, args).output().expect("started");
        assert!(output.status.success(), "{output:?}");
    }
    for args in [&["doctor"][..], &["status"]] {
        let coloured = Terminal::show(command(&project, &model, args), 80);
        assert!(coloured.has_colour(), "{args:?}");
        let mut plain = command(&project, &model, args);
        plain.env("NO_COLOR", "1");
        let plain = Terminal::show(plain, 80);
        assert!(!plain.has_colour(), "{args:?}");
        assert_eq!(plain.text(), coloured.text());
    }
}
