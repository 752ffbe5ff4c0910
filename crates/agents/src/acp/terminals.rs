//! Commands that an agent runs through us, in the session's room. They are served only while the agent's
//! messages are read: there is no separate task, and a full pipe blocks its writer until then.

use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::io;
use std::path::Path;
use std::pin::pin;

use agent_client_protocol_schema::v1::CreateTerminalRequest;
use autonoe_core::gate::ToolCall;
use autonoe_sandbox::{Launch, SandboxedChild};
use futures::future::{Either, select, select_all};
use serde_json::{Value, json};
use tokio::net::unix::pipe;

use super::files::FAILED;
use super::message::RpcError;
use super::translate::{command_line, quoted};
use crate::vendor::VendorSession;

/// Open at the same time.
const MAX_TERMINALS: usize = 32;
/// Only the end of the output is kept, even if the agent requests a larger limit.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;
/// The part of it that is reported as the result of a call.
const MAX_RESULT_BYTES: usize = 30_000;
/// Released terminals that are kept until their call ends.
const MAX_RELEASED: usize = 32;
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// The exit code of a command whose exit status is unknown.
const LOST: i32 = 137;

/// The command as a call that our gates know. Its environment variables are checked as if the command set
/// them itself.
pub(super) fn call(id: &str, request: &CreateTerminalRequest) -> ToolCall {
    let set = request.env.iter().map(|variable| format!("{}={}\n", variable.name, quoted(&variable.value)));
    let command = set.chain([line(request)]).collect::<String>();
    ToolCall { id: id.to_owned(), name: "Bash".to_owned(), input: json!({ "command": command }) }
}

/// A command without arguments is a whole command line already.
fn line(request: &CreateTerminalRequest) -> String {
    if request.args.is_empty() {
        return request.command.clone();
    }
    let words = std::iter::once(&request.command).chain(&request.args);
    command_line(&words.map(String::as_str).collect::<Vec<_>>())
}

#[derive(Debug, Default)]
pub(super) struct Terminals {
    created: usize,
    open: BTreeMap<String, Terminal>,
    /// The output of released terminals, with their ids.
    released: VecDeque<(String, String)>,
}

#[derive(Debug)]
struct Terminal {
    child: SandboxedChild,
    /// `None` once all writers have closed it.
    output: Option<pipe::Receiver>,
    tail: OutputTail,
    exit: Option<i32>,
    /// The ids of requests to answer when the command has ended.
    waiting: Vec<Value>,
    /// Whether it is part of a call that the agent reports.
    is_reported: bool,
}

/// What is left to do for a released terminal.
pub(super) struct Released {
    /// Requests that waited for its end, and their responses.
    pub answers: Vec<(Value, Value)>,
    /// The output and whether the command failed, unless the agent reports them.
    pub unreported: Option<(String, bool)>,
}

impl Terminals {
    /// The id of the next terminal, unless there are too many.
    pub(super) fn next_id(&mut self) -> Result<String, RpcError> {
        if self.open.len() >= MAX_TERMINALS {
            return Err(failed(format!("{MAX_TERMINALS} terminals are open already; release one first")));
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
        is_reported: bool,
    ) -> Result<(), RpcError> {
        let launch = vendor_session.command("/bin/bash").await.map_err(|error| failed(error.to_string()))?;
        let env = request.env.iter().map(|variable| (&variable.name, &variable.value));
        let launch = launch.args(["-c", "--", &line(request)]).envs(env).cwd(cwd);
        let limit = request.output_byte_limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
        let terminal =
            Terminal::start(launch, limit, is_reported).map_err(|error| failed(error.to_string()))?;
        self.open.insert(id.to_owned(), terminal);
        Ok(())
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    pub(super) fn output(&mut self, id: &str) -> Result<Value, RpcError> {
        let terminal = self.find(id)?;
        terminal.drain();
        let mut answer = json!({ "output": terminal.tail.text(), "truncated": terminal.tail.is_cut });
        if let Some(code) = terminal.exit {
            answer["exitStatus"] = status(code);
        }
        Ok(answer)
    }

    /// The exit status; `None` if the request `by` is answered later.
    pub(super) fn wait(&mut self, id: &str, by: &Value) -> Option<Result<Value, RpcError>> {
        let terminal = match self.find(id) {
            Ok(terminal) => terminal,
            Err(error) => return Some(Err(error)),
        };
        if terminal.exit.is_none() {
            terminal.waiting.push(by.clone());
        }
        terminal.exit.map(status).map(Ok)
    }

    /// Stops a command and its children. Waiting requests are answered when messages are read again.
    pub(super) async fn kill(&mut self, id: &str) -> Result<(), RpcError> {
        self.find(id)?.stop().await;
        Ok(())
    }

    /// Stops a command and removes its terminal.
    pub(super) async fn release(&mut self, id: &str) -> Result<Released, RpcError> {
        let mut terminal = self.open.remove(id).ok_or_else(|| unknown(id))?;
        let is_error = terminal.exit != Some(0);
        terminal.stop().await;
        let code = terminal.exit.unwrap_or(LOST);
        let answers = terminal.waiting.drain(..).map(|by| (by, status(code))).collect();
        terminal.tail.truncate_front(MAX_RESULT_BYTES);
        let output = terminal.tail.text();
        if !terminal.is_reported {
            return Ok(Released { answers, unreported: Some((output, is_error)) });
        }
        self.released.push_back((id.to_owned(), output));
        if self.released.len() > MAX_RELEASED {
            self.released.pop_front();
        }
        Ok(Released { answers, unreported: None })
    }

    /// The output of a command, for the result of its call.
    pub(super) fn output_for_result(&mut self, id: &str) -> String {
        if let Some(index) = self.released.iter().position(|(released, _)| released == id) {
            return self.released.remove(index).map(|(_, output)| output).unwrap_or_default();
        }
        let Some(terminal) = self.open.get_mut(id) else {
            return String::new();
        };
        terminal.drain();
        let mut tail = terminal.tail.clone();
        tail.truncate_front(MAX_RESULT_BYTES);
        tail.text()
    }

    /// Serves all terminals until one has ended that requests wait for; returns these requests and their
    /// responses. Cancel safe.
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

    fn find(&mut self, id: &str) -> Result<&mut Terminal, RpcError> {
        self.open.get_mut(id).ok_or_else(|| unknown(id))
    }
}

impl Terminal {
    fn start(launch: Launch, limit: usize, is_reported: bool) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let child = launch.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        let output = Some(pipe::Receiver::from_owned_fd(reader.into())?);
        Ok(Self { child, output, tail: OutputTail::new(limit), exit: None, waiting: Vec::new(), is_reported })
    }

    /// Waits for output or the end of the command. Cancel safe.
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

    /// Reads the available output.
    fn drain(&mut self) {
        let mut buffer = vec![0; READ_BUFFER_BYTES];
        while let Some(output) = &self.output {
            match output.try_read(&mut buffer) {
                Ok(count @ 1..) => self.tail.push(&buffer[..count]),
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

/// The end of the output, at most `limit` bytes.
#[derive(Debug, Clone)]
struct OutputTail {
    bytes: Vec<u8>,
    limit: usize,
    is_cut: bool,
}

impl OutputTail {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, is_cut: false }
    }

    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        self.truncate_front(self.limit);
    }

    /// Drops the beginning, at a character boundary.
    fn truncate_front(&mut self, limit: usize) {
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

fn unknown(id: &str) -> RpcError {
    failed(format!("there is no terminal '{id}'"))
}

fn failed(message: String) -> RpcError {
    RpcError { code: FAILED, message }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::{CreateTerminalRequest, EnvVariable};

    use super::{OutputTail, call};

    #[test]
    fn the_gates_check_the_command_that_runs() {
        let checked = |request| call("1", &request).input["command"].as_str().expect("a command").to_owned();
        let request = |command: &str| CreateTerminalRequest::new("s", command);
        assert_eq!(checked(request("ls && rm x")), "ls && rm x");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(checked(request("echo").args(words(&["a b", "&&"]))), "echo 'a b' '&&'");
        assert_eq!(checked(request("bash").args(words(&["-lc", "rm -rf ~"]))), "rm -rf ~");
        let env = vec![EnvVariable::new("LD_PRELOAD", "x y")];
        assert_eq!(checked(request("ls").env(env)), "LD_PRELOAD='x y'\nls");
    }

    #[test]
    fn the_end_of_the_output_is_kept_in_whole_characters() {
        let mut tail = OutputTail::new(5);
        tail.push("abc".as_bytes());
        assert!(!tail.is_cut);
        tail.push("äöü".as_bytes());
        assert_eq!((tail.text().as_str(), tail.is_cut), ("öü", true));
    }
}
