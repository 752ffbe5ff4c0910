//! `autonoe mcp login` and `logout`, seen from an MCP server with OAuth, and the runs that use the login.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::oauth_server::{AuthSupport, OAuthServer, get, location};
use super::support::{CliTestProject, always, assert_script_followed, model, signal, until};

const LONG: u64 = 24 * 3600;

/// A project whose user has configured the server as `tickets` and has a browser that only writes down what it should open.
struct LoginFixture {
    project: CliTestProject,
    server: OAuthServer,
}

impl LoginFixture {
    fn new(support: AuthSupport, lifetime: u64) -> Self {
        let fixture = Self {
            project: CliTestProject::with_status(&[("A", "pending")]),
            server: OAuthServer::start(support, lifetime),
        };
        fixture.configure(&format!(
            "[mcp_servers.tickets]\ntype = \"http\"\nurl = \"{}\"\n",
            fixture.server.url()
        ));
        let browser = fixture.project.home().join("bin/xdg-open");
        fs::create_dir_all(browser.parent().expect("a parent")).expect("made");
        let page = fixture.page_file();
        let script = format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new\nmv {0}.new {0}\n", page.display());
        fs::write(&browser, script).expect("written");
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("executable");
        fixture
    }

    fn configure(&self, text: &str) {
        self.project.write("../home/.config/autonoe/config.toml", text);
    }

    fn page_file(&self) -> PathBuf {
        self.project.home().join("page")
    }

    fn logins(&self) -> PathBuf {
        self.project.home().join(".local/state/autonoe/mcp-logins")
    }

    fn login_file(&self) -> PathBuf {
        let entries = fs::read_dir(self.logins()).expect("logins").map(|entry| entry.expect("entry").path());
        entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).expect("a login")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.project.autonoe(None);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.project.home().join("bin").display());
        command.env("PATH", path).args(["mcp"]).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn finished(&self, args: &[&str]) -> (Option<i32>, String, String) {
        parts(self.command(args).output().expect("started"))
    }

    /// Starts a login and waits for the page that the browser should open.
    fn begin(&self, args: &[&str]) -> (Child, String) {
        let child = self.command(args).spawn().expect("started");
        until("the browser is opened", || self.page_file().exists());
        (child, fs::read_to_string(self.page_file()).expect("a page"))
    }

    /// Logs in as a user who consents.
    fn log_in(&self) -> String {
        let (child, page) = self.begin(&["login", "tickets"]);
        let shown = get(&location(&get(&page)));
        assert!(shown.starts_with("HTTP/1.1 200") && shown.contains("return to the terminal"), "{shown}");
        let (code, stdout, stderr) = parts(child.wait_with_output().expect("ended"));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert!(stderr.contains(&page), "the page is printed too: {stderr}");
        fs::remove_file(self.page_file()).expect("removed");
        stdout
    }

    /// Runs the native agent, which calls the server's tool once.
    fn run(&self) -> (super::support::RunOutput, autonoe_scripted::ScriptedServer) {
        let model = model(&always(
            r#"
              [[conversation.turn]]
              call = [{ tool = "mcp__tickets__lookup", input = {} }]
              [[conversation.turn]]
              expect = "ticket 7"
              call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
              [[conversation.turn]]
              text = "done"
            "#,
        ));
        (self.project.run(&model, &["run"]), model)
    }

    /// Nothing that a run leaves behind, outside the login itself, contains a token.
    fn assert_no_token_in(&self, output: &super::support::RunOutput) {
        let shown = format!("{:?}{}", output.events, output.stderr);
        let journal = ["journal.db", "journal.db-wal"].map(|name| {
            let bytes = fs::read(self.project.journal().with_file_name(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        for part in ["Zq8w7Xy", "Pl3m9Kt"] {
            assert!(!shown.contains(part), "{shown}");
            assert!(journal.iter().all(|text| !text.contains(part)), "a token is in the journal");
        }
    }
}

fn parts(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_login_is_stored_privately_and_used_by_a_run() {
    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    let shown = fixture.log_in();
    assert!(shown.starts_with("Logged in to MCP server `tickets` (http://127.0.0.1:"), "{shown}");
    assert!(shown.contains("1 tool.") && shown.contains("mcp-logins"), "{shown}");
    fixture.server.read(|log| {
        assert_eq!(
            (log.registered.as_slice(), log.violations.as_slice()),
            (&["autonoe".to_owned()][..], &[][..])
        );
    });
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(fixture.logins()), mode(fixture.login_file())), (0o700, 0o600));
    let stored: Value =
        serde_json::from_str(&fs::read_to_string(fixture.login_file()).expect("read")).expect("JSON");
    assert!(stored["expires_at"].is_u64() && stored["refresh_token"].is_string(), "{stored}");

    let (run, model) = fixture.run();
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    fixture.server.read(|log| {
        assert_eq!(log.calls, log.issued, "the token of the login, and no other one");
        assert_eq!(log.grants, ["authorization_code"]);
    });
    fixture.assert_no_token_in(&run);
}

#[test]
fn an_expired_token_is_refreshed_and_a_rejected_one_too() {
    let fixture = LoginFixture::new(AuthSupport::OAuth, 1);
    fixture.log_in();
    let (run, model) = fixture.run();
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    fixture.server.read(|log| {
        assert_eq!(log.violations, [""; 0], "every refresh token is used once");
        assert!(
            log.grants.len() > 1 && log.grants[1..].iter().all(|grant| grant == "refresh_token"),
            "{:?}",
            log.grants
        );
    });
    fixture.assert_no_token_in(&run);

    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    fixture.log_in();
    fixture.server.revoke();
    fixture.run().0.assert_ended("all_passed", 0);
    fixture.server.read(|log| assert_eq!(log.grants, ["authorization_code", "refresh_token"]));
}

#[test]
fn other_agents_get_the_token_as_a_header() {
    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    fixture.log_in();
    fixture.project.write("agent.sh", ACP_AGENT);
    let never_asked = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    let run = fixture
        .project
        .run(&never_asked, &["run", "--backend", "acp:bash agent.sh", "-n", "1", "--max-retries", "0"]);
    let received = fs::read_to_string(fixture.project.agents_path("received.txt")).expect("received");
    let token = fixture.server.read(|log| log.issued[0].clone());
    assert!(
        received.contains(&format!(r#"{{"name":"Authorization","value":"Bearer {token}"}}"#)),
        "{received}"
    );
    assert!(run.stderr.contains("[redacted]") || !run.stderr.contains("Zq8w7Xy"), "{}", run.stderr);
    fixture.assert_no_token_in(&run);
}

/// Writes down what it is asked, and says the header aloud.
const ACP_AGENT: &str = r#"
while read -r line; do
  printf '%s\n' "$line" >> received.txt
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
    *'"session/prompt"'*)
      token=$(grep -o 'Bearer [^"]*' received.txt)
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is %s!"}}}}\n' "${token#Bearer }"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn logout_deletes_the_login_even_a_damaged_one() {
    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    fixture.log_in();
    fs::write(fixture.login_file(), "{\"access_token\": 7").expect("written");
    let (run, _) = fixture.run();
    let message = "its stored login is damaged (";
    assert!(
        run.stderr.contains(message) && run.stderr.contains("`autonoe mcp login tickets`"),
        "{}",
        run.stderr
    );

    let (code, stdout, stderr) = fixture.finished(&["logout", "tickets"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("Logged out of MCP server `tickets`: deleted "), "{stdout}");
    let (code, stdout, _) = fixture.finished(&["logout", "tickets"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "There is no login to MCP server `tickets`.\n"));
    let (run, _) = LoginFixture::new(AuthSupport::OAuth, LONG).run();
    assert!(
        run.stderr.contains("it requires a login; log in with `autonoe mcp login tickets`"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_login_that_nobody_completes_stores_nothing() {
    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    let redirected = |query: &dyn Fn(&str) -> String| {
        let (child, page) = fixture.begin(&["login", "tickets"]);
        let redirect = location(&get(&page));
        let (base, _) = redirect.split_once('?').expect("a query");
        let state = redirect.split_once("state=").expect("a state").1;
        let missing = get(&base.replace("/callback", "/favicon.ico"));
        assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
        let shown = get(&format!("{base}?{}", query(state)));
        assert!(shown.starts_with("HTTP/1.1 400"), "{shown}");
        fs::remove_file(fixture.page_file()).expect("removed");
        let (code, _, stderr) = parts(child.wait_with_output().expect("ended"));
        assert_eq!(code, Some(1), "{stderr}");
        stderr
    };
    let stderr = redirected(&|_| "code=the-code&state=guessed".to_owned());
    assert!(stderr.contains("the browser came back with a wrong `state`"), "{stderr}");
    let stderr =
        redirected(&|state| format!("error=access_denied&error_description=not%20you&state={state}"));
    assert!(stderr.contains("its authorization server refused: access_denied (not you)."), "{stderr}");

    let (child, _) = fixture.begin(&["login", "tickets"]);
    signal(&child, rustix::process::Signal::INT);
    let (code, _, stderr) = parts(child.wait_with_output().expect("ended"));
    assert_eq!(code, Some(130), "{stderr}");
    assert!(!fixture.logins().exists(), "nothing was stored");
}

#[test]
fn what_cannot_be_logged_in_to_is_named() {
    let failed = |support: AuthSupport, args: &[&str]| {
        let fixture = LoginFixture::new(support, LONG);
        let (code, stdout, stderr) = fixture.finished(args);
        assert_eq!(stdout, "");
        assert!(!fixture.page_file().exists() && !fixture.logins().exists());
        (code, stderr)
    };
    let login = ["login", "tickets"];
    for (support, sentence) in [
        (AuthSupport::Open, "Cannot log in to MCP server `tickets`: it does not ask for a login."),
        (AuthSupport::TokenOnly, "it requires a login but does not offer OAuth."),
        (AuthSupport::WithoutRegistration, "its authorization server does not register clients."),
    ] {
        let (code, stderr) = failed(support, &login);
        assert!(code == Some(1) && stderr.contains(sentence), "{stderr}");
    }
    let (code, stderr) = failed(AuthSupport::OAuth, &["login", "ticket"]);
    assert!(
        code == Some(2)
            && stderr.contains("There is no MCP server `ticket`; the configured ones are `tickets`."),
        "{stderr}"
    );

    let fixture = LoginFixture::new(AuthSupport::OAuth, LONG);
    let url = fixture.server.url();
    for (config, code, sentence) in [
        ("[mcp_servers.tickets]\ncommand = \"x\"\n".to_owned(), 2, "`tickets` is a program on this machine"),
        (String::new(), 2, "There is no MCP server `tickets`; none is configured."),
        (
            format!(
                "[mcp_servers.tickets]\ntype = \"http\"\nurl = \"{url}\"\nheaders = {{ authorization = \"Bearer x\" }}\n"
            ),
            2,
            "has an Authorization header, which takes precedence",
        ),
        (
            "[mcp_servers.tickets]\ntype = \"http\"\nurl = \"http://127.0.0.1:1/mcp\"\n".to_owned(),
            1,
            "it cannot be reached: ",
        ),
    ] {
        fixture.configure(&config);
        let (ended, _, stderr) = fixture.finished(&login);
        assert!(ended == Some(code) && stderr.contains(sentence), "{stderr}");
    }
}

#[test]
fn an_authorization_server_that_issues_no_token_is_reported() {
    let fixture = LoginFixture::new(AuthSupport::RefusesTokens, LONG);
    let (child, page) = fixture.begin(&["login", "tickets"]);
    get(&location(&get(&page)));
    let (code, _, stderr) = parts(child.wait_with_output().expect("ended"));
    assert!(code == Some(1) && stderr.contains("its authorization server issued no token: "), "{stderr}");
    assert!(stderr.contains("the code is too old"), "{stderr}");
    assert!(!fixture.logins().exists());
}

#[test]
fn a_server_of_the_project_must_be_trusted_and_may_have_a_registered_client() {
    let fixture = LoginFixture::new(AuthSupport::WithoutRegistration, LONG);
    fixture.configure("");
    let url = fixture.server.url();
    fixture.project.write(
        ".autonoe/agent.json",
        &format!(r#"{{"mcpServers": {{"tickets": {{"type": "http", "url": "{url}"}}}}}}"#),
    );
    let args = ["login", "tickets", "--client-id", "mine"];
    let (code, _, stderr) = fixture.finished(&args);
    assert!(code == Some(2) && stderr.contains("you have not approved"), "{stderr}");
    assert!(
        fixture.project.autonoe(None).args(["trust", "--yes"]).output().expect("started").status.success()
    );
    let (child, page) = fixture.begin(&args);
    assert!(page.contains("client_id=mine"), "{page}");
    get(&location(&get(&page)));
    let (code, _, stderr) = parts(child.wait_with_output().expect("ended"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        fixture
            .project
            .root()
            .read_dir()
            .expect("read")
            .all(|entry| entry.expect("entry").file_name() != "mcp-logins")
    );
}
