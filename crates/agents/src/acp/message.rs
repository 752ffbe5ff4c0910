//! Messages of an agent, one per line. Unknown messages are reported, never dropped.

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, KillTerminalRequest, ReadTextFileRequest, ReleaseTerminalRequest,
    RequestPermissionRequest, SessionNotification, SessionUpdate, TerminalOutputRequest,
    WaitForTerminalExitRequest, WriteTextFileRequest,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Debug)]
pub(super) enum AcpMessage {
    Update(Box<SessionUpdate>),
    Request {
        id: Value,
        request: AcpRequest,
    },
    /// The response to our request with this id.
    Response {
        id: u64,
        answer: Result<Value, RpcError>,
    },
    Ignored,
    /// A message type that is not known to us.
    Unknown(String),
}

#[derive(Debug)]
pub(super) enum AcpRequest {
    Permission(Box<RequestPermissionRequest>),
    Read(ReadTextFileRequest),
    Write(WriteTextFileRequest),
    Run(CreateTerminalRequest),
    Output(TerminalOutputRequest),
    Wait(WaitForTerminalExitRequest),
    Kill(KillTerminalRequest),
    /// Stop a command and release its output.
    Release(ReleaseTerminalRequest),
    /// A request that we do not support.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RpcError {
    pub code: i64,
    pub message: String,
}

impl AcpMessage {
    /// What it is, if it is a message or a request that is not known to us.
    pub(super) fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown(kind) | Self::Request { request: AcpRequest::Other(kind), .. } => Some(kind),
            Self::Update(_) | Self::Request { .. } | Self::Response { .. } | Self::Ignored => None,
        }
    }

    pub(super) fn read(mut message: Value) -> Self {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message["method"].as_str().map(str::to_owned);
        let params = message["params"].take();
        match (method, id) {
            (Some(method), Some(id)) => Self::Request { id, request: request(method, params) },
            (Some(method), None) => notification(&method, params),
            (None, Some(id)) => match id.as_u64() {
                Some(id) => Self::Response { id, answer: answer(message) },
                None => Self::Unknown(format!("a response to {id}")),
            },
            (None, None) => Self::Unknown("a message that is neither a request nor a response".to_owned()),
        }
    }
}

fn notification(method: &str, params: Value) -> AcpMessage {
    match method {
        "session/update" => {
            let kind = params["update"]["sessionUpdate"].as_str().unwrap_or("without a kind").to_owned();
            match read::<SessionNotification>(params) {
                Ok(notification) => AcpMessage::Update(Box::new(notification.update)),
                Err(error) => AcpMessage::Unknown(format!("session/update {kind} ({error})")),
            }
        }
        // Methods that start with an underscore are agent-specific extensions.
        method if method.starts_with('_') || method.starts_with("$/") => AcpMessage::Ignored,
        method => AcpMessage::Unknown(method.to_owned()),
    }
}

fn request(method: String, params: Value) -> AcpRequest {
    let known = match method.as_str() {
        "session/request_permission" => read(params).map(|request| AcpRequest::Permission(Box::new(request))),
        "fs/read_text_file" => read(params).map(AcpRequest::Read),
        "fs/write_text_file" => read(params).map(AcpRequest::Write),
        "terminal/create" => read(params).map(AcpRequest::Run),
        "terminal/output" => read(params).map(AcpRequest::Output),
        "terminal/wait_for_exit" => read(params).map(AcpRequest::Wait),
        "terminal/kill" => read(params).map(AcpRequest::Kill),
        "terminal/release" => read(params).map(AcpRequest::Release),
        _ => return AcpRequest::Other(method),
    };
    known.unwrap_or_else(|error| AcpRequest::Other(format!("{method} ({error})")))
}

fn answer(mut message: Value) -> Result<Value, RpcError> {
    let error = &message["error"];
    if error.is_null() {
        return Ok(message["result"].take());
    }
    let mut text = error["message"].as_str().unwrap_or("no error message").to_owned();
    // The service's own error message is often only here.
    let details = &error["data"];
    let details = details["details"].as_str().or_else(|| details["message"].as_str()).or(details.as_str());
    if let Some(details) = details.filter(|details| !text.contains(*details)) {
        text = format!("{text}: {details}");
    }
    Err(RpcError { code: error["code"].as_i64().unwrap_or_default(), message: text })
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{AcpMessage, AcpRequest};

    #[test]
    fn every_recorded_line_is_parsed() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acp");
        let mut lines = 0;
        for file in fs::read_dir(fixtures).expect("fixtures") {
            let file = file.expect("file").path();
            for line in fs::read_to_string(&file).expect("read").lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                if line["dir"] != "<" {
                    continue;
                }
                let message = AcpMessage::read(line["msg"].clone());
                let is_known = !matches!(
                    &message,
                    AcpMessage::Unknown(_) | AcpMessage::Request { request: AcpRequest::Other(_), .. }
                );
                assert!(is_known, "{}: {message:?}", file.display());
                lines += 1;
            }
        }
        assert!(lines > 150, "{lines}");
    }

    #[test]
    fn unknown_messages_are_reported_by_name() {
        let update = json!({ "method": "session/update", "params": {
            "sessionId": "1", "update": { "sessionUpdate": "dream", "text": "" },
        } });
        let AcpMessage::Unknown(what) = AcpMessage::read(update) else { panic!("known") };
        assert!(what.contains("dream"), "{what}");
        let message = AcpMessage::read(json!({ "id": "a", "method": "piano/play", "params": {} }));
        assert!(
            matches!(message, AcpMessage::Request { request: AcpRequest::Other(what), .. } if what == "piano/play")
        );
    }
}
