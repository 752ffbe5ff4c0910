//! Notifications, from the receiver's side: a webhook, a command, `notify-send` and `sendmail` that record what they get.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use autonoe_test_kit::{PATH, write_program};
use rustix::process::Signal;
use serde_json::Value;

use super::quota::out_of_quota;
use super::support::{CliTestProject, RunOutput, builder, coding, model, processes_in, signal, until};
use super::webhook_receiver::{Answer, ReceivedMessage, WebhookReceiver};

const SECRET: &str = "a-secret-that-nobody-sees";

/// A model that blocks A and passes B.
fn blocker() -> String {
    let blocked = r#"
        [[conversation]]
        when = ["one deliverable", "Open, in order of priority:\n- `A`"]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "blocked", reason = "no <key> for test-key-never-real" } }]
          [[conversation.turn]]
          text = "A is blocked."
        "#;
    blocked.to_owned() + &coding("B", "passed")
}

fn configure(project: &CliTestProject, text: &str) {
    project.write("../home/.config/autonoe/config.toml", text);
}

fn webhook(name: &str, url: &str) -> String {
    format!("[notify.targets.{name}]\nkind = 'webhook'\nurl = '{url}'\n")
}

fn run(project: &CliTestProject, script: &str, args: &[&str]) -> RunOutput {
    let model = model(script);
    RunOutput::from(command(project, &model, args).output().expect("started"))
}

fn command(project: &CliTestProject, model: &autonoe_scripted::ScriptedServer, args: &[&str]) -> Command {
    let mut command = project.command(model, args);
    command.env("HOOK_SECRET", SECRET).env("PATH", format!("{}:{PATH}", bin(project).display()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A directory on the search path.
fn bin(project: &CliTestProject) -> std::path::PathBuf {
    let bin = project.home().join("tools");
    fs::create_dir_all(&bin).expect("made");
    bin
}

fn autonoe(project: &CliTestProject, args: &[&str]) -> Output {
    let mut command = project.autonoe(None);
    command.env("HOOK_SECRET", SECRET).env("PATH", format!("{}:{PATH}", bin(project).display()));
    command.args(args).output().expect("started")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn status(project: &CliTestProject) -> (String, Value) {
    let words = text(&autonoe(project, &["status"]));
    let json = autonoe(project, &["status", "--json"]).stdout;
    (words, serde_json::from_slice(&json).expect("JSON"))
}

/// Asserts that nothing on disk and nothing printed has this text, other than the user's own configuration.
#[track_caller]
fn assert_nowhere(project: &CliTestProject, secret: &str) {
    fn search(directory: &Path, secret: &str) {
        for entry in fs::read_dir(directory).expect("directory").map(|entry| entry.expect("entry")) {
            if entry.file_type().expect("type").is_dir() {
                search(&entry.path(), secret);
            } else if entry.file_name() != "config.toml" {
                let content = fs::read(entry.path()).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&content).contains(secret), "{}", entry.path().display());
            }
        }
    }
    search(&project.home(), secret);
    search(&project.root(), secret);
}

/// Whether the example of the documentation accepts a message; `None` without Python.
fn accepted_by_the_example(message: &ReceivedMessage, secret: &str) -> Option<bool> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notify.md"))
        .expect("a page");
    let (_, rest) = page.split_once("```python\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let call = "import sys\nprint(is_from_autonoe(sys.argv[1].encode(), {'X-Autonoe-Timestamp': sys.argv[2], \
                'X-Autonoe-Signature': sys.argv[3]}, sys.argv[4].encode()))";
    let headers = ["x-autonoe-timestamp", "x-autonoe-signature"].map(|name| message.headers[name].as_str());
    let ran = Command::new("/usr/bin/python3")
        .args(["-I", "-c", &format!("{example}\n{call}"), secret, headers[0], headers[1], &message.text])
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ran.stdout).trim() == "True")
}

#[test]
fn a_webhook_gets_signed_notifications_of_what_happened() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(204)]);
    let url = format!("{}/T0000000/B0000000/very-private-part", receiver.url);
    let target = "[notify.targets.team]\nkind = 'webhook'\nurl_command = ['cat', 'URL']\nsecret_variable = 'HOOK_SECRET'";
    configure(&project, &target.replace("URL", &project.path("../url").display().to_string()));
    project.write("../url", &url);
    let run = run(&project, &blocker(), &["run"]);
    run.assert_ended("all_passed", 0);
    let received = receiver.received();
    assert_eq!(receiver.events(), ["blocked", "done"], "{received:?}");
    for message in &received {
        assert!(message.path.ends_with("very-private-part"));
        assert!(
            message.has_valid_signature(SECRET) && !message.has_valid_signature("another"),
            "{message:?}"
        );
        assert_ne!(accepted_by_the_example(message, SECRET), Some(false));
        assert_ne!(accepted_by_the_example(message, "another"), Some(true));
        assert_eq!(message.id(), message.body["id"], "{message:?}");
        assert_eq!(message.body["run"], 1);
        assert_eq!(message.body["project"], "project");
        assert_eq!(message.headers["content-type"], "application/json");
    }
    assert_ne!(received[0].id(), received[1].id());
    let [blocked, done] = [&received[0].body, &received[1].body];
    assert_eq!((&blocked["title"], &blocked["level"]), (&"project: A is blocked".into(), &"warning".into()));
    let reason = blocked["text"].as_str().expect("text");
    assert!(reason.contains("no <key>") && reason.contains("autonoe unblock A"), "{reason}");
    assert!(!reason.contains("test-key-never-real"), "{reason}");
    assert_eq!((&done["title"], &done["level"]), (&"project: done".into(), &"success".into()));
    let end = done["text"].as_str().expect("text");
    assert!(end.contains("1/2 deliverables passed (1 blocked)") && end.contains("All achievable"), "{end}");
    assert!(!run.stderr.contains("notif"), "nothing to say: {}", run.stderr);
    let (words, json) = status(&project);
    assert!(!words.contains("Not notified") && json["undelivered"] == Value::Array(Vec::new()), "{words}");
    let listed = text(&autonoe(&project, &["notify", "list"]));
    assert_eq!(listed.lines().filter(|line| line.starts_with("delivered ")).count(), 2, "{listed}");
    assert_nowhere(&project, SECRET);
    assert_nowhere(&project, "very-private-part");
}

#[test]
fn services_get_the_body_that_they_expect() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let receivers =
        ["slack", "discord", "ntfy"].map(|shape| (shape, WebhookReceiver::start(&[Answer::Status(200)])));
    let targets = receivers.iter().map(|(shape, receiver)| {
        webhook(shape, &receiver.url) + &format!("shape = '{shape}'\nevents = ['blocked']\n")
    });
    let targets = targets.collect::<String>();
    configure(
        &project,
        &targets.replace("shape = 'ntfy'\n", "shape = 'ntfy'\ntoken_variable = 'HOOK_SECRET'\n"),
    );
    run(&project, &blocker(), &["run"]).assert_ended("all_passed", 0);
    let [slack, discord, ntfy] = receivers.map(|(shape, receiver)| {
        let received = receiver.received();
        assert_eq!(received.len(), 1, "{shape}: {received:?}");
        received.into_iter().next().expect("one")
    });
    let text = slack.body["text"].as_str().expect("text");
    assert!(text.starts_with("*project: A is blocked*\n") && text.contains("no &lt;key&gt;"), "{text}");
    assert_eq!(discord.body["allowed_mentions"]["parse"], Value::Array(Vec::new()));
    assert!(discord.body["content"].as_str().expect("text").starts_with("**project: A is blocked**\n"));
    assert_eq!((ntfy.path.as_str(), &ntfy.body["topic"]), ("/", &"hook".into()));
    assert_eq!((&ntfy.body["title"], &ntfy.body["priority"]), (&"project: A is blocked".into(), &4.into()));
    assert_eq!(ntfy.headers["authorization"], format!("Bearer {SECRET}"));
}

#[test]
fn a_target_that_fails_twice_gets_the_same_notification_again() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(500), Answer::Status(429), Answer::Status(200)]);
    configure(&project, &webhook("team", &receiver.url));
    let run = run(&project, &coding("A", "passed"), &["run"]);
    run.assert_ended("all_passed", 0);
    let received = receiver.received();
    assert_eq!(receiver.events(), ["done"; 3]);
    assert!(
        received.iter().all(|message| message.id() == received[0].id() && message.text == received[0].text)
    );
    let said: Vec<&str> = run.stderr.lines().filter(|line| line.contains("'team'")).collect();
    assert_eq!(said.len(), 1, "one sentence: {}", run.stderr);
    assert!(said[0].contains("it answered 500"), "{said:?}");
    let (words, json) = status(&project);
    assert_eq!(json["undelivered"], Value::Array(Vec::new()), "{words}");
}

#[test]
fn a_target_that_never_answers_is_named_and_its_notification_is_kept() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Never]);
    configure(&project, &(webhook("team", &receiver.url) + "time_limit = '1s'\n"));
    let run = run(&project, &coding("A", "passed"), &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("'team' was not notified: no answer within 1s"), "{}", run.stderr);
    assert!(run.stderr.contains("1 notification(s) are not delivered yet (to team)"), "{}", run.stderr);
    let (words, json) = status(&project);
    let line = words.lines().find(|line| line.starts_with("Not notified: team of 'done' (pending)"));
    assert!(
        line.is_some_and(|line| line.contains("no answer within 1s") && line.contains("next try")),
        "{words}"
    );
    let row = &json["undelivered"][0];
    assert_eq!(
        (&row["target"], &row["state"], &row["event"]),
        (&"team".into(), &"pending".into(), &"done".into())
    );
    assert!(
        row["problem"].as_str().expect("why").contains("no answer") && row["attempts"].as_u64() > Some(1),
        "{row}"
    );

    let tried = receiver.received().len();
    receiver.answer(Answer::Status(200));
    let retry = autonoe(&project, &["notify", "retry"]);
    assert!(text(&retry).contains("Delivered 1 of 1 notification(s)"), "{}", text(&retry));
    let received = receiver.received();
    assert_eq!(received.len(), tried + 1);
    assert_eq!(received[tried].id(), row["id"]);
    assert_eq!(status(&project).1["undelivered"], Value::Array(Vec::new()));
    assert!(text(&autonoe(&project, &["notify", "retry"])).contains("nothing to deliver"));
    assert_eq!(receiver.received().len(), tried + 1, "once");
}

#[test]
fn a_refused_notification_is_not_tried_again() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(404)]);
    configure(&project, &webhook("team", &receiver.url));
    let run = run(&project, &coding("A", "passed"), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(receiver.received().len(), 1);
    assert!(run.stderr.contains("'team' was not notified of 'done': it answered 404"), "{}", run.stderr);
    let (words, _) = status(&project);
    assert!(words.contains("Not notified: team of 'done' (failed): it answered 404"), "{words}");
}

#[test]
fn a_killed_process_leaves_its_notifications_to_the_next() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Never]);
    configure(&project, &webhook("team", &receiver.url));
    let model = model(&blocker());
    let mut child = command(&project, &model, &["run"]).spawn().expect("started");
    until("the attempt has begun", || !receiver.received().is_empty());
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    receiver.answer(Answer::Status(200));
    let run = RunOutput::from(command(&project, &model, &["run"]).output().expect("started"));
    assert_eq!(run.outcome()["outcome"], "all_passed", "{}", run.stderr);
    let received = receiver.received();
    let mut events = receiver.events();
    assert_eq!(received[0].id(), received[1].id(), "the same notification");
    events.remove(0);
    assert_eq!(events, ["blocked", "done"], "each once");
}

#[test]
fn an_end_that_was_recorded_is_notified_once_even_if_the_process_is_killed_then() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(200)]);
    configure(&project, &webhook("team", &receiver.url));
    let model = model(&coding("A", "passed"));
    let killed =
        command(&project, &model, &["run"]).env("AUTONOE_CRASH_AT", "run-ended").output().expect("started");
    assert_eq!(killed.status.code(), None);
    assert_eq!(receiver.received().len(), 0, "it had no time to");
    for _ in 0..2 {
        command(&project, &model, &["run"]).output().expect("started");
    }
    let runs: Vec<Value> = receiver.received().iter().map(|received| received.body["run"].clone()).collect();
    assert_eq!(runs, [1, 2, 3]);
    assert_eq!(receiver.events(), ["done"; 3]);
}

#[test]
fn an_interrupt_does_not_wait_for_a_target() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Never]);
    let hanging = bin(&project).join("hang");
    write_program(&hanging, "trap '' TERM; sleep 400 & echo x > \"$HOME/hangs\"; sleep 400; sleep 400");
    let targets = webhook("team", &receiver.url)
        + "time_limit = '400s'\n[notify.targets.script]\nkind = 'command'\ncommand = ['hang']\ntime_limit = '400s'\n";
    configure(&project, &targets);
    let long = "[[conversation]]\nwhen = ['one deliverable', '- `B`']\n[[conversation.turn]]\n\
                call = [{ tool = 'Bash', input = { command = 'sleep 400' } }]\n[[conversation.turn]]\ntext = 'x'";
    let script = blocker();
    let (blocked, _) = script.split_at(script.rfind("[[conversation]]").expect("B"));
    let model = model(&format!("{blocked}{long}"));
    let child = command(&project, &model, &["run"]).spawn().expect("started");
    until("both targets hang", || !receiver.received().is_empty() && project.home().join("hangs").exists());
    signal(&child, Signal::INT);
    // The deadline of the whole test is far below the time limit of the targets.
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("interrupted", 130);
    until("the command is gone", || processes_in(&project.home()).is_empty());
    assert!(
        run.stderr.contains("2 notification(s) are not delivered yet (to script, team)"),
        "{}",
        run.stderr
    );
    assert_eq!(status(&project).1["undelivered"], Value::Array(Vec::new()), "nothing failed yet");
}

#[test]
fn a_run_in_the_background_keeps_delivering_without_the_lock_of_the_project() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Never]);
    configure(&project, &(webhook("team", &receiver.url) + "time_limit = '400s'\n"));
    let model = model(&coding("A", "passed"));
    let mut detached = project.autonoe(Some(&model));
    detached.args(["run", "--detach", "--in-place", "--backend", "native", "--session-delay", "0s"]);
    let started = text(&detached.output().expect("started"));
    let pid = started.split("(process ").nth(1).and_then(|rest| rest.split(')').next()?.parse().ok());
    let pid = rustix::process::Pid::from_raw(pid.unwrap_or_else(|| panic!("{started}"))).expect("a process");
    until("the end is being delivered", || receiver.events() == ["done"]);
    until("the lock is free", || text(&autonoe(&project, &["doctor"])).contains("lock: free"));
    configure(&project, "");
    RunOutput::from(command(&project, &model, &["run"]).output().expect("started"))
        .assert_ended("all_passed", 0);
    rustix::process::test_kill_process(pid).expect("it still delivers");
    rustix::process::kill_process(pid, Signal::TERM).expect("a signal");
    until("it has ended", || rustix::process::test_kill_process(pid).is_err());
    assert_eq!(receiver.received().len(), 1);
}

#[test]
fn a_command_gets_the_notification_and_no_keys() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    // What an agent could write is never found, even first on the search path.
    fs::create_dir_all(project.path("bin")).expect("made");
    write_program(&project.path("bin/record"), "touch \"$HOME/from-the-project\"");
    let script = r#"{ cat; echo; env; echo "args $*"; pwd; } > "$HOME/recorded.tmp"; mv "$HOME/recorded.tmp" "$HOME/recorded""#;
    write_program(&bin(&project).join("record"), script);
    configure(
        &project,
        "[notify.targets.script]\nkind = 'command'\ncommand = ['record', 'a b', '$HOME']\nevents = ['done']",
    );
    let model = model(&coding("A", "passed"));
    let mut command = command(&project, &model, &["run"]);
    command.env("PATH", format!("{}:{}:{PATH}", project.path("bin").display(), bin(&project).display()));
    RunOutput::from(command.output().expect("started")).assert_ended("all_passed", 0);
    let recorded = fs::read_to_string(project.home().join("recorded")).expect("recorded");
    let mut lines = recorded.lines();
    let event: Value = serde_json::from_str(lines.next().expect("JSON")).expect("JSON");
    assert_eq!((&event["event"], &event["level"]), (&"done".into(), &"success".into()));
    let lines: Vec<&str> = lines.collect();
    let id = event["id"].as_str().expect("an id");
    let root = project.root().canonicalize().expect("real");
    for line in [
        "AUTONOE_EVENT=done".to_owned(),
        format!("AUTONOE_EVENT_ID={id}"),
        "AUTONOE_LEVEL=success".to_owned(),
        "AUTONOE_TITLE=project: done".to_owned(),
        format!("AUTONOE_PROJECT={}", root.display()),
        "args a b $HOME".to_owned(),
        project.home().display().to_string(),
    ] {
        assert!(lines.contains(&line.as_str()), "{line} is missing in {recorded}");
    }
    assert!(!recorded.contains("test-key-never-real"), "{recorded}");
    assert!(!project.home().join("from-the-project").exists());
}

#[test]
fn the_desktop_and_mail_are_notified_with_the_usual_programs() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let record = |name: &str| {
        format!(
            r#"for arg in "$@"; do printf '%s\n' "$arg"; done > "$HOME/{name}.args"; cat > "$HOME/{name}.input""#
        )
    };
    write_program(&bin(&project).join("notify-send"), &record("desk"));
    write_program(&bin(&project).join("sendmail"), &record("mail"));
    let email = "[notify.targets.mail]\nkind = 'email'\nto = ['ann@example.com']\nfrom = 'me@example.com'\nevents = ['blocked']\n";
    configure(&project, &format!("{email}[notify.targets.desk]\nkind = 'desktop'\nevents = ['blocked']"));
    run(&project, &blocker(), &["run"]).assert_ended("all_passed", 0);
    let read = |name: &str| fs::read_to_string(project.home().join(name)).expect(name);
    let args = read("desk.args");
    let args: Vec<&str> = args.lines().collect();
    assert_eq!(args[..4], ["--app-name=Autonoe", "--urgency=normal", "--", "project: A is blocked"]);
    assert!(args[4].contains("no &lt;key&gt;"), "{args:?}");
    assert_eq!(read("mail.args"), "-t\n-i\n");
    let mail = read("mail.input");
    let (head, body) = mail.split_once("\n\n").expect("a body");
    for line in ["To: ann@example.com", "From: me@example.com", "Subject: project: A is blocked"] {
        assert!(head.lines().any(|found| found == line), "{line} is missing in {head}");
    }
    assert!(head.contains("Message-ID: <") && !body.trim().is_empty(), "{mail}");
}

#[test]
fn a_program_that_is_missing_is_named_at_the_start_and_in_doctor() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    configure(&project, "[notify.targets.script]\nkind = 'command'\ncommand = ['no-such-program']");
    let run = run(&project, &coding("A", "passed"), &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(
        run.stderr.contains("'script' cannot be notified: the program 'no-such-program'"),
        "{}",
        run.stderr
    );
    let doctor = text(&autonoe(&project, &["doctor"]));
    assert!(doctor.contains("note notify script: command, but the program 'no-such-program'"), "{doctor}");
    assert!(status(&project).0.contains("Not notified: script of 'done' (failed)"));
}

#[test]
fn wrong_targets_stop_a_run_before_it_starts_with_one_sentence() {
    for (target, wanted) in [
        (
            "kind = 'webhook'\nurl = 'http://hooks.example.com/very-private'",
            "hooks.example.com must use https",
        ),
        ("kind = 'webhook'\nurl = 'hooks.example.com/very-private'", "its address is not valid"),
        ("kind = 'webhook'\nurl = 'https://ann:very-private@hooks.example.com'", "user name or a password"),
        ("kind = 'webhook'\nurl = 'https://ntfy.example.com'\nshape = 'ntfy'", "https://HOST/TOPIC"),
        (
            "kind = 'webhook'\nurl_variable = 'NO_SUCH'",
            "the variable NO_SUCH, which should have its address, is not set",
        ),
        (
            "kind = 'webhook'\nurl = 'https://x.example.com'\nsecret_variable = 'NO_SUCH'",
            "its secret, is not set",
        ),
        (
            "kind = 'webhook'\nurl_command = ['false']",
            "`false` did not print the address of the target 'team'",
        ),
        ("kind = 'webhook'\nurl = 'https://x.example.com'\nshap = 'slack'", "did you mean `shape`?"),
        ("kind = 'desktop'\nevents = ['dnoe']", "did you mean `done`?"),
    ] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        configure(&project, &format!("[notify.targets.team]\n{target}"));
        let model = model(&coding("A", "passed"));
        let output = command(&project, &model, &["run"]).output().expect("started");
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(wanted) && printed.contains("team"), "{target}: {printed}");
        assert!(!printed.contains("very-private"), "{printed}");
        assert!(model.requests().is_empty());
    }
}

#[test]
fn a_repository_cannot_set_targets() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".autonoe/agent.json", r#"{ "notify": { "targets": { "x": { "kind": "desktop" } } } }"#);
    let model = model(&coding("A", "passed"));
    let output = command(&project, &model, &["run"]).output().expect("started");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("notify"), "{}", text(&output));
}

#[test]
fn many_denied_calls_are_notified_once() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(200)]);
    configure(
        &project,
        &format!(
            "[notify]\ndenied_threshold = 2\n{}events = ['denied_often']",
            webhook("team", &receiver.url)
        ),
    );
    let deny = "{ tool = 'Bash', input = { command = 'wget http://127.0.0.1:1/' } }";
    let script = format!(
        "[[conversation]]\nwhen = 'one deliverable'\n[[conversation.turn]]\ncall = [{deny}, {deny}, {deny}]\n[[conversation.turn]]\n\
         call = [{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = 'A', status = 'passed' }} }}]\n\
         [[conversation.turn]]\ntext = 'x'"
    );
    run(&project, &script, &["run"]).assert_ended("all_passed", 0);
    let received = receiver.received();
    assert_eq!(receiver.events(), ["denied_often"]);
    assert_eq!(received[0].body["title"], "project: 2 tool calls were denied");
}

#[test]
fn a_test_says_what_happened_at_each_target() {
    let project = CliTestProject::new();
    let [good, bad] =
        [Answer::Status(200), Answer::Status(500)].map(|answer| WebhookReceiver::start(&[answer]));
    assert_eq!(autonoe(&project, &["notify", "test"]).status.code(), Some(2));
    assert!(text(&autonoe(&project, &["notify", "test"])).contains("[notify.targets.desk]"));
    configure(
        &project,
        &(webhook("good", &good.url) + "secret_variable = 'HOOK_SECRET'\n" + &webhook("bad", &bad.url)),
    );
    let output = autonoe(&project, &["notify", "test"]);
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("FAILED bad: webhook to 127.0.0.1:") && printed.contains("it answered 500"),
        "{printed}"
    );
    assert!(
        printed.contains("ok     good: webhook to 127.0.0.1:") && printed.contains("signed"),
        "{printed}"
    );
    assert!(!printed.contains("/hook") && !printed.contains(SECRET), "{printed}");
    assert_eq!(good.events(), ["test"]);
    assert!(good.received()[0].has_valid_signature(SECRET));
    assert_eq!(autonoe(&project, &["notify", "test", "--target", "good"]).status.code(), Some(0));
    assert_eq!((good.received().len(), bad.received().len()), (2, 1));
    let wrong = autonoe(&project, &["notify", "test", "--target", "godo"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong).contains("no target 'godo'") && text(&wrong).contains("'good'?"),
        "{}",
        text(&wrong)
    );
    let doctor = text(&autonoe(&project, &["doctor"]));
    assert!(
        doctor.contains("ok   notify good: webhook to 127.0.0.1:") && doctor.contains("signed (not tested"),
        "{doctor}"
    );
    assert!(
        text(&autonoe(&project, &["notify", "list"])).contains("Nobody was notified"),
        "a test leaves no record"
    );
}

#[test]
fn an_outbox_that_cannot_be_used_is_a_warning() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(200)]);
    configure(&project, &webhook("team", &receiver.url));
    let model = model(&builder());
    // The state directory is there only after a run.
    command(&project, &model, &["run", "--max-iterations", "1"]).output().expect("started");
    let outbox = project.journal().with_file_name("outbox.db");
    for leftover in ["outbox.db-wal", "outbox.db-shm"] {
        let _ = fs::remove_file(outbox.with_file_name(leftover));
    }
    fs::write(&outbox, "x".repeat(10_000)).expect("written");
    let run = RunOutput::from(
        command(&project, &model, &["run", "--max-iterations", "1"]).output().expect("started"),
    );
    assert!(
        run.stderr.contains("outbox.db cannot be used")
            && run.stderr.contains("Nobody is notified of this run"),
        "{}",
        run.stderr
    );
    assert_eq!(run.outcome()["type"], "outcome");
    assert_eq!(autonoe(&project, &["status"]).status.code(), Some(0));
}

#[test]
fn a_budget_that_is_nearly_spent_and_a_quota_that_is_waited_for_are_notified() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let receiver = WebhookReceiver::start(&[Answer::Status(204)]);
    configure(&project, &format!("{}events = ['budget', 'quota']\n", webhook("team", &receiver.url)));
    run(&project, &blocker(), &["run", "--max-cost", "0.001"]).assert_ended("budget_exceeded", 4);
    assert_eq!(receiver.events(), ["budget"]);
    let budget = &receiver.received()[0].body;
    assert_eq!(budget["title"], "project: 80 % of the budget is spent");
    let waiting = ["run", "--wait-for-quota", "--max-duration", "2500ms"];
    run(&project, &out_of_quota(4_102_444_800), &waiting).assert_ended("duration_exceeded", 4);
    assert_eq!(receiver.events(), ["budget", "quota"], "once for all seconds of the wait");
    let quota = &receiver.received()[1].body;
    assert_eq!(quota["title"], "project: waiting for the quota");
    assert!(quota["text"].as_str().expect("text").contains("The run continues at Fri 1 Jan"), "{quota}");
}
