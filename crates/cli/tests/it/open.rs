//! `autonoe open`: ports of what agents have started in their rooms.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use super::support::{CliTestProject, assert_no_processes_left, model, signal, until, without_bubblewrap};

/// A process that is interrupted on drop.
struct Interrupted(Child);

impl Drop for Interrupted {
    fn drop(&mut self) {
        signal(&self.0, Signal::INT);
        let _ = self.0.wait();
    }
}

fn started(command: &mut Command) -> Interrupted {
    Interrupted(command.stderr(Stdio::null()).spawn().expect("started"))
}

/// A project with these deliverables, whose agents serve a page with the name of theirs on one port.
fn serving(ids: &[&str], port: u16) -> (CliTestProject, String) {
    let project = CliTestProject::new().in_workspace();
    let deliverables: Vec<_> = ids
        .iter()
        .map(|id| json!({ "id": id, "description": id, "acceptanceCriteria": ["works"], "depends": [] }))
        .collect();
    let status =
        json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
    project.write(".autonoe/status.json", &status.to_string());
    project.git(&["init", "-q", "-b", "main", "."]);
    let serve = format!("echo $1 > page.txt; /usr/bin/python3 -m http.server {port} --bind 127.0.0.1\n");
    project.commit(&[("serve.sh", &serve)]);
    let conversation = |id: &&str| {
        let command = format!("bash serve.sh {id}");
        format!(
            "[[conversation]]\nwhen = '{}'\n[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = '{command}' }} }}]\n",
            if ids.len() > 1 { format!("Yours is **{id}**") } else { format!("`{id}`") }
        )
    };
    (project, ids.iter().map(conversation).collect())
}

/// `autonoe open` and the address that it prints; `None` if nothing can be opened at the moment.
fn open(project: &CliTestProject, target: &str) -> Option<(Interrupted, String)> {
    let mut command = project.autonoe(None);
    let mut opened = started(command.args(["open", target, "--listen", "0"]).stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(opened.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("read");
    let address = line.strip_prefix("http://")?.split(' ').next()?.to_owned();
    Some((opened, address))
}

/// The page that is served there; `None` if there is none yet.
fn page(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET /page.txt HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

/// Waits until the port shows the page of a deliverable.
fn assert_shows(project: &CliTestProject, target: &str, content: &str) {
    let mut opened = None;
    until("a session has started a program", || {
        opened = open(project, target);
        opened.is_some()
    });
    let (_open, address) = opened.expect("opened");
    until("the page is there", || page(&address).is_some_and(|page| page == format!("{content}\n")));
}

fn refused(project: &CliTestProject, target: &str) -> String {
    let output = project.autonoe(None).args(["open", target, "--listen", "0"]).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

#[test]
fn the_user_sees_what_an_agent_serves_on_both_layers() {
    // Without bubblewrap the agent's port is one of this machine.
    let port = TcpListener::bind(("127.0.0.1", 0)).expect("bound").local_addr().expect("bound").port();
    for has_bubblewrap in [true, false] {
        let (project, script) = serving(&["A"], port);
        assert!(refused(&project, "8731").contains("No run is in progress"));
        assert!(refused(&project, "A:0").contains("'0' is not a port"));
        let model = model(&script);
        let mut command = project.command(&model, &["run", "-n", "1"]);
        if !has_bubblewrap {
            command.env("PATH", without_bubblewrap(&project));
        }
        let run = started(command.stdout(Stdio::null()));
        for target in [port.to_string(), format!("A:{port}")] {
            assert_shows(&project, &target, "A");
        }
        drop(run);
        assert_no_processes_left(&project);
    }
}

#[test]
fn sessions_at_the_same_time_have_the_same_port() {
    let (project, script) = serving(&["A", "B"], 8731);
    let model = model(&script);
    let _run = started(project.command(&model, &["run", "--agents", "2"]).stdout(Stdio::null()));
    for id in ["A", "B"] {
        assert_shows(&project, &format!("{id}:8731"), id);
    }
    let said = refused(&project, "8731");
    assert!(said.contains("Several sessions run at the moment") && said.contains("one of A, B"), "{said}");
    let said = refused(&project, "C:8731");
    assert!(said.contains("No session builds C at the moment. These are being built: A, B."), "{said}");
}
