//! Outages of the model service: the run waits, reports it on screen, in JSON and in `status`, continues to wait after a
//! restart, or switches to a fallback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use autonoe_scripted::ScriptedServer;
use rustix::process::Signal;
use serde_json::Value;

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, coding, model, signal};

/// A free address, on which nothing listens yet.
fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

fn serve_at(address: &str, model: &ScriptedServer) {
    serve_after(address, "", 0, model);
}

/// Answers with `failure` so many times before it forwards to the model.
fn serve_after(address: &str, failure: &str, times: usize, model: &ScriptedServer) {
    let failure = failure.to_owned();
    let listener = TcpListener::bind(address).expect("the port is still free");
    let service = model.base_url().trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for (index, client) in listener.incoming().flatten().enumerate() {
            if index < times {
                answer(client, &failure);
                continue;
            }
            let server = TcpStream::connect(&service).expect("the model");
            let (mut from_client, mut to_server) =
                (client.try_clone().expect("cloned"), server.try_clone().expect("cloned"));
            let (mut from_server, mut to_client) = (server, client);
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
        }
    });
}

/// Reads a whole request and answers it.
fn answer(mut client: TcpStream, response: &str) {
    let mut reader = BufReader::new(client.try_clone().expect("cloned"));
    let head: Vec<String> =
        reader.by_ref().lines().map(|line| line.expect("read")).take_while(|line| !line.is_empty()).collect();
    let length =
        head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)]).expect("read");
    client.write_all(response.as_bytes()).expect("written");
}

fn command(project: &CliTestProject, model: &ScriptedServer, address: &str, args: &[&str]) -> Command {
    let mut command = project.command(model, args);
    command.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads events up to the first outage; the iterator has the rest.
fn until_outage(child: &mut Child) -> (Vec<Value>, impl Iterator<Item = Value> + use<>) {
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.expect("read")).expect("JSON"));
    let mut events_so_far = Vec::new();
    for event in events.by_ref() {
        let is_outage = event["type"] == "outage";
        events_so_far.push(event);
        if is_outage {
            return (events_so_far, events);
        }
    }
    panic!("the run does not wait: {events_so_far:#?}");
}

#[test]
fn a_run_waits_for_a_service_and_shows_why() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let address = closed_address();
    let mut child =
        command(&project, &model, &address, &["run", "--max-retries", "0"]).spawn().expect("started");
    let (events_so_far, rest) = until_outage(&mut child);
    let outage = events_so_far.last().expect("it");
    assert!(outage["message"].as_str().expect("words").contains("Connection refused"), "{outage}");
    assert!(outage["gives_up_at"].is_string() && outage["until"].is_string(), "{outage}");

    let status = project.autonoe(None).args(["status", "--json"]).output().expect("started");
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["waiting"]["for"], "service", "{status}");
    let words = project.autonoe(None).arg("status").output().expect("started");
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("Waiting for the model service since"), "{words}");

    serve_at(&address, &model);
    let ended = rest.last().expect("an outcome");
    assert_eq!((&ended["outcome"], &ended["iterations"]), (&"all_passed".into(), &1.into()), "{ended}");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
}

#[test]
fn the_limit_ends_the_wait() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let args = ["run", "--max-outage", "500ms"];
    let run = RunOutput::from(command(&project, &model, &closed_address(), &args).output().expect("started"));
    run.assert_ended("outage", 6);
    assert_eq!(run.outcome()["iterations"], 0);
    assert!(run.stderr.contains("--max-outage"), "{}", run.stderr);
    project.write("../home/.config/autonoe/config.toml", "[run]\nmax_outage = '500ms'\n");
    let run =
        RunOutput::from(command(&project, &model, &closed_address(), &["run"]).output().expect("started"));
    run.assert_ended("outage", 6);
}

#[test]
fn a_restart_keeps_waiting() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let address = closed_address();
    let mut first = project.autonoe(Some(&model));
    first.args(["run", "--backend", "native", "--json", "--session-delay", "30s"]);
    first.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
    let mut first = first.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let (events_so_far, _rest) = until_outage(&mut first);
    let since = events_so_far.last().expect("it")["since"].clone();
    signal(&first, Signal::KILL);
    first.wait().expect("killed");
    let mut second = command(&project, &model, &address, &["run"]).spawn().expect("started");
    let (events_so_far, rest) = until_outage(&mut second);
    assert_eq!(events_so_far.last().expect("it")["since"], since, "the same outage");
    assert!(
        events_so_far.iter().all(|event| event["type"] != "session_started"),
        "it waits before the first request: {events_so_far:?}"
    );
    signal(&second, Signal::INT);
    assert_eq!(rest.last().expect("an outcome")["outcome"], "interrupted");
    assert_eq!(second.wait().expect("ended").code(), Some(130));
    assert_no_processes_left(&project);
}

#[test]
fn overload_and_rate_limits_without_a_reset_time_are_waited_for() {
    for (status, message) in [(529, "Overloaded"), (429, "slow down"), (503, "unavailable")] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let fault = format!(
            "[[conversation.turn]]\nfault = {{ kind = 'status', status = {status}, message = '{message}', times = 5 }}\n"
        );
        let script = coding("A", "passed").replacen(
            "[[conversation.turn]]\n",
            &(fault + "[[conversation.turn]]\n"),
            1,
        );
        let model = model(&script);
        let run = project.run(&model, &["run", "--max-retries", "0"]);
        run.assert_ended("all_passed", 0);
        assert_eq!(run.of_type("outage").count(), 1, "{status}: four tries, then a session that needs two");
        assert_eq!(run.outcome()["iterations"], 1, "{status}");
    }
}

#[test]
fn the_error_page_of_a_proxy_is_waited_for() {
    for status in ["502 Bad Gateway", "503 Service Unavailable"] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(&coding("A", "passed"));
        let address = closed_address();
        let page =
            format!("<html>\r\n<head><title>{status}</title></head>\r\n<center>nginx</center></html>\r\n");
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
            page.len()
        );
        serve_after(&address, &response, 5, &model);
        let args = ["run", "--max-retries", "0"];
        let run = RunOutput::from(command(&project, &model, &address, &args).output().expect("started"));
        run.assert_ended("all_passed", 0);
        let outages: Vec<_> = run.of_type("outage").collect();
        assert_eq!(outages.len(), 1, "{status}: four tries, then a session that needs two");
        let message = outages[0]["message"].as_str().expect("words");
        assert!(message.contains(&format!("a web page, '{status}' (HTML)")), "{message}");
    }
}

#[test]
fn a_fallback_takes_over_at_once() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    project.write(
        "../home/.config/autonoe/config.toml",
        &format!(
            "[providers.other]\nkind = 'anthropic'\nbase_url = '{}'\nkey_variable = 'OTHER_KEY'\n",
            model.base_url()
        ),
    );
    let args = ["run", "--fallback", "native:other/claude-sonnet-4-5"];
    let run = RunOutput::from(
        command(&project, &model, &closed_address(), &args).env("OTHER_KEY", "k").output().expect("started"),
    );
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("backend_changed").map(|event| &event["reason"]).collect::<Vec<_>>(), ["outage"]);
    assert_eq!(run.of_type("outage").count(), 0, "the run did not wait");
}

/// A run whose work is done and whose reviewer's service has this address.
fn reviewed_run(project: &CliTestProject, builder: &ScriptedServer, address: &str, args: &[&str]) -> Command {
    project.write(
        "../home/.config/autonoe/config.toml",
        &format!(
            "[providers.other]\nkind = 'anthropic'\nbase_url = 'http://{address}'\nkey_variable = 'OTHER_KEY'\n"
        ),
    );
    let mut command = project.command(builder, &["run", "--verifier", "native:other/claude-sonnet-4-5"]);
    command.args(args).env("OTHER_KEY", "k").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn reviewer() -> ScriptedServer {
    model(
        "[[conversation]]\n[[conversation.turn]]\n\
         call = [{ tool = 'mcp__autonoe__review', input = { deliverableId = 'A', holds = true, reason = 'It is there.' } }]\n\
         [[conversation.turn]]\ntext = 'done'",
    )
}

#[test]
fn a_review_that_does_not_happen_is_not_a_success() {
    let project = CliTestProject::with_status(&[("A", "passed")]).in_repository();
    let builder = model(&coding("A", "passed"));
    let mut command = reviewed_run(&project, &builder, &closed_address(), &["--max-outage", "500ms"]);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("outage", 6);
    let message = run.outcome()["fault"]["message"].as_str().expect("words");
    assert!(message.starts_with("The review by another agent failed: "), "{message}");
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn a_run_waits_for_the_service_of_its_reviewer() {
    let project = CliTestProject::with_status(&[("A", "passed")]).in_repository();
    let (builder, reviewer, address) = (model(&coding("A", "passed")), reviewer(), closed_address());
    // Had the fallback taken over, the reviewer would have been replaced by the builder.
    let args = ["--fallback", "native:opus"];
    let mut child = reviewed_run(&project, &builder, &address, &args).spawn().expect("started");
    let (_, rest) = until_outage(&mut child);
    serve_at(&address, &reviewer);
    let ended = rest.last().expect("an outcome");
    assert_eq!(ended["outcome"], "all_passed", "{ended}");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    let status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    assert_eq!(status["deliverables"][0]["review"]["holds"], true, "{status}");
}

#[test]
fn the_time_limit_ends_a_review() {
    let project = CliTestProject::with_status(&[("A", "passed")]).in_repository();
    let builder = model(&coding("A", "passed"));
    let silent = model("[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'silence' }");
    let address = silent.base_url().trim_start_matches("http://").to_owned();
    let mut command = reviewed_run(&project, &builder, &address, &["--max-duration", "3s"]);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("duration_exceeded", 4);
    assert_eq!(run.sessions(), ["review"]);
}
