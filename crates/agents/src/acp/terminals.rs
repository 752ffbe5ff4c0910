//! Commands that an agent runs through us, in the session's room. They go on only while the agent is listened to: there is
//! no task of their own, and a pipe that is full holds its writer up until then.

use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::io;
use std::path::Path;
use std::pin::pin;

use agent_client_protocol_schema::v1::CreateTerminalRequest;
use autonoe_core::gate::ToolCall;
use autonoe_sandbox::{Child, Launch};
use futures::future::{Either, select, select_all};
use serde_json::{Value, json};
use tokio::net::unix::pipe;

use super::files::FAILED;
use super::message::Refused;
use super::translate::{command_line, quoted};
use crate::vendor::VendorSession;

/// The most that are open at a time.
const MAX_TERMINALS: usize = 32;
/// The most that is kept of what one wrote, whatever the agent asks for: the end of it.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;
/// How much of that is told as the result of a call.
const MAX_TOLD_BYTES: usize = 30_000;
/// How many are remembered whose call has not been told to have ended.
const MAX_RELEASED: usize = 32;
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// The exit code of a command whose end nobody saw.
const LOST: i32 = 137;

/// A command in the words of our gates. The variables that are set for it are judged as if it set them itself.
pub(super) fn call(id: &str, request: &CreateTerminalRequest) -> ToolCall {
    let set = request.env.iter().map(|variable| format!("{}={}\n", variable.name, quoted(&variable.value)));
    let command = set.chain([line(request)]).collect::<String>();
    ToolCall { id: id.to_owned(), name: "Bash".to_owned(), input: json!({ "command": command }) }
}

/// The command line: what comes without arguments is one already.
fn line(request: &CreateTerminalRequest) -> String {
    if request.args.is_empty() {
        return request.command.clone();
    }
    let words = std::iter::once(&request.command).chain(&request.args);
    command_line(&words.map(String::as_str).collect::<Vec<_>>())
}

/// The terminals of a session.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    created: usize,
    open: BTreeMap<String, Terminal>,
    /// What was written in those that are gone, by their ids.
    released: VecDeque<(String, String)>,
}

#[derive(Debug)]
struct Terminal {
    child: Child,
    /// Until nobody writes any more.
    output: Option<pipe::Receiver>,
    kept: Kept,
    exit: Option<i32>,
    /// The requests to be answered when it has ended.
    waiting: Vec<Value>,
    /// Whether it is a part of a call that the agent tells of.
    is_told: bool,
}

/// What is left to do about a terminal that is gone.
pub(super) struct Released {
    /// Requests that waited for its end, and their answers.
    pub answers: Vec<(Value, Value)>,
    /// What it wrote and whether it failed, unless the agent tells that.
    pub untold: Option<(String, bool)>,
}

impl Terminals {
    /// The id of the next one, if there may be one.
    pub(super) fn next_id(&mut self) -> Result<String, Refused> {
        if self.open.len() >= MAX_TERMINALS {
            return Err(failed(format!("there are {MAX_TERMINALS} terminals already; release one")));
        }
        self.created += 1;
        Ok(format!("terminal-{}", self.created))
    }

    /// Starts a command that the gates have allowed.
    pub(super) async fn create(
        &mut self,
        vendor_session: &VendorSession,
        id: &str,
        request: &CreateTerminalRequest,
        cwd: &Path,
        is_told: bool,
    ) -> Result<(), Refused> {
        let launch = vendor_session.command("/bin/bash").await.map_err(|error| failed(error.to_string()))?;
        let env = request.env.iter().map(|variable| (&variable.name, &variable.value));
        let launch = launch.args(["-c", "--", &line(request)]).envs(env).cwd(cwd);
        let limit = request.output_byte_limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
        let terminal = Terminal::start(launch, limit, is_told).map_err(|error| failed(error.to_string()))?;
        self.open.insert(id.to_owned(), terminal);
        Ok(())
    }

    /// Those that are open.
    pub(super) fn ids(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    /// What a command has written so far.
    pub(super) fn output(&mut self, id: &str) -> Result<Value, Refused> {
        let terminal = self.find(id)?;
        terminal.drain();
        let mut answer = json!({ "output": terminal.kept.text(), "truncated": terminal.kept.is_cut });
        if let Some(code) = terminal.exit {
            answer["exitStatus"] = status(code);
        }
        Ok(answer)
    }

    /// How a command ended; none if the request `by` is answered later.
    pub(super) fn wait(&mut self, id: &str, by: &Value) -> Option<Result<Value, Refused>> {
        let terminal = match self.find(id) {
            Ok(terminal) => terminal,
            Err(refused) => return Some(Err(refused)),
        };
        if terminal.exit.is_none() {
            terminal.waiting.push(by.clone());
        }
        terminal.exit.map(status).map(Ok)
    }

    /// Ends a command and all that it started. Who waits for it is answered when the agent is listened to again.
    pub(super) async fn kill(&mut self, id: &str) -> Result<(), Refused> {
        self.find(id)?.stop().await;
        Ok(())
    }

    /// Ends a command and forgets it.
    pub(super) async fn release(&mut self, id: &str) -> Result<Released, Refused> {
        let mut terminal = self.open.remove(id).ok_or_else(|| unknown(id))?;
        let is_error = terminal.exit != Some(0);
        terminal.stop().await;
        let code = terminal.exit.unwrap_or(LOST);
        let answers = terminal.waiting.drain(..).map(|by| (by, status(code))).collect();
        terminal.kept.keep_at_most(MAX_TOLD_BYTES);
        let output = terminal.kept.text();
        if !terminal.is_told {
            return Ok(Released { answers, untold: Some((output, is_error)) });
        }
        self.released.push_back((id.to_owned(), output));
        if self.released.len() > MAX_RELEASED {
            self.released.pop_front();
        }
        Ok(Released { answers, untold: None })
    }

    /// What a command wrote, for the result of the call that it was a part of.
    pub(super) fn told(&mut self, id: &str) -> String {
        if let Some(place) = self.released.iter().position(|(released, _)| released == id) {
            return self.released.remove(place).map(|(_, output)| output).unwrap_or_default();
        }
        let Some(terminal) = self.open.get_mut(id) else {
            return String::new();
        };
        terminal.drain();
        let mut kept = terminal.kept.clone();
        kept.keep_at_most(MAX_TOLD_BYTES);
        kept.text()
    }

    /// Attends to all of them until one has ended that somebody waits for: the requests and their answers. Cancel safe.
    pub(super) async fn ended(&mut self) -> Vec<(Value, Value)> {
        loop {
            let mut answers = Vec::new();
            for terminal in self.open.values_mut() {
                if let Some(code) = terminal.exit {
                    answers.extend(terminal.waiting.drain(..).map(|by| (by, status(code))));
                }
            }
            if !answers.is_empty() {
                return answers;
            }
            let steps: Vec<_> = self.open.values_mut().map(|terminal| Box::pin(terminal.step())).collect();
            match steps.is_empty() {
                true => pending::<()>().await,
                false => select_all(steps).await.0,
            }
        }
    }

    fn find(&mut self, id: &str) -> Result<&mut Terminal, Refused> {
        self.open.get_mut(id).ok_or_else(|| unknown(id))
    }
}

impl Terminal {
    fn start(launch: Launch, limit: usize, is_told: bool) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let child = launch.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        let output = Some(pipe::Receiver::from_owned_fd(reader.into())?);
        Ok(Self { child, output, kept: Kept::new(limit), exit: None, waiting: Vec::new(), is_told })
    }

    /// Something happens: it writes, or it ends. Cancel safe.
    async fn step(&mut self) {
        let ended = async {
            match self.exit {
                None => self.child.wait().await.map_or(LOST, |exit| exit.code()),
                Some(_) => pending().await,
            }
        };
        let writes = async {
            match &self.output {
                Some(output) => output.readable().await,
                None => pending().await,
            }
        };
        let exit = match select(pin!(ended), pin!(writes)).await {
            Either::Left((code, _)) => Some(code),
            Either::Right(_) => None,
        };
        self.exit = self.exit.or(exit);
        self.drain();
    }

    /// Takes what has been written.
    fn drain(&mut self) {
        let mut buffer = vec![0; READ_BUFFER_BYTES];
        while let Some(output) = &self.output {
            match output.try_read(&mut buffer) {
                Ok(count @ 1..) => self.kept.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => self.output = None,
            }
        }
    }

    async fn stop(&mut self) {
        if self.exit.is_none() {
            self.exit = Some(self.child.stop().await.map_or(LOST, |exit| exit.code()));
        }
        self.drain();
    }
}

/// The end of what was written.
#[derive(Debug, Clone)]
struct Kept {
    bytes: Vec<u8>,
    limit: usize,
    is_cut: bool,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, is_cut: false }
    }

    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        self.keep_at_most(self.limit);
    }

    /// Cuts the beginning off, between two characters.
    fn keep_at_most(&mut self, limit: usize) {
        let excess = self.bytes.len().saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let rest = self.bytes[excess..].iter();
        let partial = rest.take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
        self.bytes.drain(..excess + partial);
        self.is_cut = true;
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

fn status(code: i32) -> Value {
    json!({ "exitCode": code, "signal": null })
}

fn unknown(id: &str) -> Refused {
    failed(format!("there is no terminal '{id}'"))
}

fn failed(message: String) -> Refused {
    Refused { code: FAILED, message }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::{CreateTerminalRequest, EnvVariable};

    use super::{Kept, call};

    #[test]
    fn the_gates_see_what_will_run() {
        let seen = |request| call("1", &request).input["command"].as_str().expect("a command").to_owned();
        let request = |command: &str| CreateTerminalRequest::new("s", command);
        assert_eq!(seen(request("ls && rm x")), "ls && rm x");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(seen(request("echo").args(words(&["a b", "&&"]))), "echo 'a b' '&&'");
        assert_eq!(seen(request("bash").args(words(&["-lc", "rm -rf ~"]))), "rm -rf ~");
        let env = vec![EnvVariable::new("LD_PRELOAD", "x y")];
        assert_eq!(seen(request("ls").env(env)), "LD_PRELOAD='x y'\nls");
    }

    #[test]
    fn the_end_of_the_output_is_kept_in_whole_characters() {
        let mut kept = Kept::new(5);
        kept.push("abc".as_bytes());
        assert!(!kept.is_cut);
        kept.push("äöü".as_bytes());
        assert_eq!((kept.text().as_str(), kept.is_cut), ("öü", true));
    }
}
