//! A model service that is away: waited for, said on screen, in JSON and in `status`, kept over a restart, left to a fallback.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use autonoe_scripted::Server;
use rustix::process::Signal;
use serde_json::Value;

use super::support::{Place, Run, assert_nothing_left, coding, model, signal};

/// An address at which nobody listens yet.
fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// From now on the service is at the address.
fn come_back(address: &str, model: &Server) {
    let listener = TcpListener::bind(address).expect("the port is still free");
    let service = model.base_url().trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&service).expect("the model");
            let (mut from_client, mut to_server) =
                (client.try_clone().expect("cloned"), server.try_clone().expect("cloned"));
            let (mut from_server, mut to_client) = (server, client);
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
        }
    });
}

fn command(place: &Place, model: &Server, address: &str, args: &[&str]) -> Command {
    let mut command = place.command(model, args);
    command.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads events until the run says that the service is away.
fn until_away(child: &mut Child) -> (Vec<Value>, impl Iterator<Item = Value> + use<>) {
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.expect("read")).expect("JSON"));
    let mut seen = Vec::new();
    for event in events.by_ref() {
        let is_outage = event["type"] == "outage";
        seen.push(event);
        if is_outage {
            return (seen, events);
        }
    }
    panic!("it does not wait: {seen:#?}");
}

#[test]
fn a_run_waits_for_a_service_that_comes_back_and_says_what_for() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let address = closed_address();
    let mut child =
        command(&place, &model, &address, &["run", "--max-retries", "0"]).spawn().expect("started");
    let (seen, rest) = until_away(&mut child);
    let outage = seen.last().expect("it");
    assert!(outage["message"].as_str().expect("words").contains("Connection refused"), "{outage}");
    assert!(outage["gives_up_at"].is_string() && outage["until"].is_string(), "{outage}");

    let status = place.autonoe(None).args(["status", "--json"]).output().expect("started");
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["waiting"]["for"], "service", "{status}");
    let words = place.autonoe(None).arg("status").output().expect("started");
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("Waiting for the model service since"), "{words}");

    come_back(&address, &model);
    let ended = rest.last().expect("an outcome");
    assert_eq!((&ended["outcome"], &ended["iterations"]), (&"all_passed".into(), &1.into()), "{ended}");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
}

#[test]
fn the_limit_ends_the_wait() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let args = ["run", "--max-outage", "500ms"];
    let run = Run::from(command(&place, &model, &closed_address(), &args).output().expect("started"));
    run.assert_ended("outage", 6);
    assert_eq!(run.outcome()["iterations"], 0);
    assert!(run.stderr.contains("--max-outage"), "{}", run.stderr);
    place.write("../home/.config/autonoe/config.toml", "[run]\nmax_outage = '500ms'\n");
    let run = Run::from(command(&place, &model, &closed_address(), &["run"]).output().expect("started"));
    run.assert_ended("outage", 6);
}

#[test]
fn a_restart_keeps_waiting() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    let address = closed_address();
    let mut first = place.autonoe(Some(&model));
    first.args(["run", "--backend", "native", "--json", "--session-delay", "30s"]);
    first.env("ANTHROPIC_BASE_URL", format!("http://{address}"));
    let mut first = first.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let (seen, _rest) = until_away(&mut first);
    let since = seen.last().expect("it")["since"].clone();
    signal(&first, Signal::KILL);
    first.wait().expect("killed");
    let mut second = command(&place, &model, &address, &["run"]).spawn().expect("started");
    let (seen, rest) = until_away(&mut second);
    assert_eq!(seen.last().expect("it")["since"], since, "the same outage");
    assert!(seen.iter().all(|event| event["type"] != "session_started"), "it waits before it asks: {seen:?}");
    signal(&second, Signal::INT);
    assert_eq!(rest.last().expect("an outcome")["outcome"], "interrupted");
    assert_eq!(second.wait().expect("ended").code(), Some(130));
    assert_nothing_left(&place);
}

#[test]
fn overload_and_rate_limits_without_a_date_are_waited_for_too() {
    for (status, message) in [(529, "Overloaded"), (429, "slow down"), (503, "unavailable")] {
        let place = Place::with_status(&[("A", "pending")]);
        let fault = format!(
            "[[conversation.turn]]\nfault = {{ kind = 'status', status = {status}, message = '{message}', times = 5 }}\n"
        );
        let script = coding("A", "passed").replacen(
            "[[conversation.turn]]\n",
            &(fault + "[[conversation.turn]]\n"),
            1,
        );
        let model = model(&script);
        let run = place.run(&model, &["run", "--max-retries", "0"]);
        run.assert_ended("all_passed", 0);
        assert_eq!(
            run.of_type("outage").count(),
            1,
            "{status}: four tries, then a session that has to try twice"
        );
        assert_eq!(run.outcome()["iterations"], 1, "{status}");
    }
}

#[test]
fn a_fallback_takes_over_at_once() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    place.write(
        "../home/.config/autonoe/config.toml",
        &format!(
            "[providers.other]\nkind = 'anthropic'\nbase_url = '{}'\nkey_variable = 'OTHER_KEY'\n",
            model.base_url()
        ),
    );
    let args = ["run", "--fallback", "native:other/claude-sonnet-4-5"];
    let run = Run::from(
        command(&place, &model, &closed_address(), &args).env("OTHER_KEY", "k").output().expect("started"),
    );
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("backend_changed").map(|event| &event["reason"]).collect::<Vec<_>>(), ["outage"]);
    assert_eq!(run.of_type("outage").count(), 0, "nobody waited");
}
