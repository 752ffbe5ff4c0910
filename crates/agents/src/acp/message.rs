//! What an agent says, line by line. Whatever it is, it becomes a message: an unknown one is told, never dropped.

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, KillTerminalRequest, ReadTextFileRequest, ReleaseTerminalRequest,
    RequestPermissionRequest, SessionNotification, SessionUpdate, TerminalOutputRequest,
    WaitForTerminalExitRequest, WriteTextFileRequest,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One line.
#[derive(Debug)]
pub(super) enum Message {
    /// Something happened in the session.
    Update(Box<SessionUpdate>),
    /// It asks us something and waits for an answer under this id.
    Asks { id: Value, asked: Asked },
    /// It answers what we asked under this number.
    Answered { id: u64, answer: Result<Value, Refused> },
    /// Nothing to tell.
    Silent,
    /// A kind that did not exist when this was written.
    Unknown(String),
}

/// What an agent may ask.
#[derive(Debug)]
pub(super) enum Asked {
    /// Whether a tool may be used.
    Permission(Box<RequestPermissionRequest>),
    /// A file's content.
    Read(ReadTextFileRequest),
    /// To write a file.
    Write(WriteTextFileRequest),
    /// To run a command.
    Run(CreateTerminalRequest),
    /// What a command has written.
    Output(TerminalOutputRequest),
    /// To hear when a command has ended.
    Wait(WaitForTerminalExitRequest),
    /// To end a command.
    Kill(KillTerminalRequest),
    /// To end a command and forget it.
    Release(ReleaseTerminalRequest),
    /// Something that we do not do.
    Other(String),
}

/// An error for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub code: i64,
    pub message: String,
}

impl Message {
    pub(super) fn read(mut message: Value) -> Self {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message["method"].as_str().map(str::to_owned);
        let params = message["params"].take();
        match (method, id) {
            (Some(method), Some(id)) => Self::Asks { id, asked: asked(method, params) },
            (Some(method), None) => told(&method, params),
            (None, Some(id)) => match id.as_u64() {
                Some(id) => Self::Answered { id, answer: answer(message) },
                None => Self::Unknown(format!("an answer to {id}")),
            },
            (None, None) => Self::Unknown("a message that is neither a request nor an answer".to_owned()),
        }
    }
}

fn told(method: &str, params: Value) -> Message {
    match method {
        "session/update" => {
            let kind = params["update"]["sessionUpdate"].as_str().unwrap_or("without a kind").to_owned();
            match read::<SessionNotification>(params) {
                Ok(notification) => Message::Update(Box::new(notification.update)),
                Err(error) => Message::Unknown(format!("session/update {kind} ({error})")),
            }
        }
        // What begins with an underscore is between an agent and clients of its own.
        method if method.starts_with('_') || method.starts_with("$/") => Message::Silent,
        method => Message::Unknown(method.to_owned()),
    }
}

fn asked(method: String, params: Value) -> Asked {
    let known = match method.as_str() {
        "session/request_permission" => read(params).map(|asked| Asked::Permission(Box::new(asked))),
        "fs/read_text_file" => read(params).map(Asked::Read),
        "fs/write_text_file" => read(params).map(Asked::Write),
        "terminal/create" => read(params).map(Asked::Run),
        "terminal/output" => read(params).map(Asked::Output),
        "terminal/wait_for_exit" => read(params).map(Asked::Wait),
        "terminal/kill" => read(params).map(Asked::Kill),
        "terminal/release" => read(params).map(Asked::Release),
        _ => return Asked::Other(method),
    };
    known.unwrap_or_else(|error| Asked::Other(format!("{method} ({error})")))
}

fn answer(mut message: Value) -> Result<Value, Refused> {
    let error = &message["error"];
    if error.is_null() {
        return Ok(message["result"].take());
    }
    let mut told = error["message"].as_str().unwrap_or("without a word").to_owned();
    // The words of the service are often only here.
    let details = &error["data"];
    let details = details["details"].as_str().or_else(|| details["message"].as_str()).or(details.as_str());
    if let Some(details) = details.filter(|details| !told.contains(*details)) {
        told = format!("{told}: {details}");
    }
    Err(Refused { code: error["code"].as_i64().unwrap_or_default(), message: told })
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Asked, Message};

    #[test]
    fn every_line_of_real_agents_is_understood() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acp");
        let mut lines = 0;
        for file in fs::read_dir(fixtures).expect("fixtures") {
            let file = file.expect("file").path();
            for line in fs::read_to_string(&file).expect("read").lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                if line["dir"] != "<" {
                    continue;
                }
                let message = Message::read(line["msg"].clone());
                let is_understood =
                    !matches!(&message, Message::Unknown(_) | Message::Asks { asked: Asked::Other(_), .. });
                assert!(is_understood, "{}: {message:?}", file.display());
                lines += 1;
            }
        }
        assert!(lines > 150, "{lines}");
    }

    #[test]
    fn what_is_new_is_told_by_its_name() {
        let update = json!({ "method": "session/update", "params": {
            "sessionId": "1", "update": { "sessionUpdate": "dream", "text": "" },
        } });
        let Message::Unknown(what) = Message::read(update) else { panic!("understood") };
        assert!(what.contains("dream"), "{what}");
        let asked = Message::read(json!({ "id": "a", "method": "piano/play", "params": {} }));
        assert!(matches!(asked, Message::Asks { asked: Asked::Other(what), .. } if what == "piano/play"));
    }
}
