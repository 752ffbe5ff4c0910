//! A model server that follows a script: for tests, the demo and benchmarks.
//!
//! [`Server::start`] listens on loopback, on a thread of its own, and answers as a model service would, except that every
//! answer was written down beforehand. It keeps what it was asked ([`Server::requests`]) and what went against the script
//! ([`Server::problems`]); a test ends by asserting that there were no problems.
//!
//! One script serves every wire, and one server speaks all of them at once:
//!
//! | API | path | thinking is signed by |
//! |---|---|---|
//! | Anthropic Messages | `/v1/messages`, `…/count_tokens` | `signature` |
//! | OpenAI Responses | `/v1/responses` | `encrypted_content`, if the request includes it |
//! | OpenAI Chat Completions | `/v1/chat/completions` | not at all |
//! | Gemini | `/v1beta/models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens` | `thoughtSignature` |
//! | Ollama | `/api/chat` | not at all |
//!
//! Lists of models (`/v1/models`, `/v1beta/models`, `/api/tags`) have one entry, `scripted`; any name is accepted.
//!
//! # The script
//!
//! ```
//! # use autonoe_scripted::{Script, Server};
//! # let script = Script::parse(r#"
//! [[conversation]]
//! name = "initializer"          # for the log; default "conversation 1", "conversation 2", …
//! when = "priority-ordered"     # string or array of strings, all of which must occur; omitted: matches everything
//! plays = 1                     # how many conversations it may serve; omitted: any number
//!
//!   [[conversation.turn]]
//!   thinking = "Read the spec first."
//!   text = "I'll read the specification."
//!   call = [{ tool = "Read", input = { file_path = "SPEC.md" } }]
//!
//!   [[conversation.turn]]
//!   fault = { kind = "status", status = 429, retry_after = 1, times = 2, headers = { "x-quota" = "rejected" } }
//!
//!   [[conversation.turn]]
//!   expect = "Word count"       # like `when`, sought in the newest tool results and user messages; a miss is a problem
//!   call = [{ tool = "mcp__autonoe__list" }]
//!
//! [[conversation]]
//! name = "coder"
//!
//!   [[conversation.turn]]
//!   fault = { kind = "cut" }
//!
//!   [[conversation.turn]]
//!   fault = { kind = "slow", millis = 50 }
//!   text = "Done."
//!   usage = { input = 1200, output = 340, cache_read = 0, cache_write = 0, reasoning = 40 }
//!   stop = "end_turn"
//! # "#)?;
//! # let server = Server::start(script)?;
//! # assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! # assert!(server.problems().is_empty());
//! # Ok::<(), autonoe_scripted::ScriptError>(())
//! ```
//!
//! **A turn** is one reply: `thinking`, then `text`, then each `call` (`input` defaults to no arguments; a string is sent as
//! it is, for arguments that are not JSON). `stop` is `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn` or
//! `refusal`; by default `tool_use` if there are calls, else `end_turn`. Of `usage`, `input` is what no cache had and
//! `reasoning` is a part of `output`; whatever it leaves out is estimated from lengths (cache figures: 0).
//!
//! **Tools of OpenAI Responses** that take a text get `input` as a string. Where the client lets tools be searched for,
//! `mcp__server__tool` is called as one that was found, in its namespace.
//!
//! **Tools of MCP servers** are written `mcp__server__tool` and called `mcp_server_tool` by a client that offers them so.
//!
//! **Pictures** in tool results and messages read `[image image/png]` to `when` and `expect`, by their type, or `[image]`.
//!
//! **Signatures.** Where thinking is signed and calls follow it, the next request must bring the thinking back with its
//! signature, where the service wants it; a miss is a problem.
//!
//! **Which conversation.** A request that begins a conversation goes to the first `[[conversation]]` whose `when` occurs in
//! the first user message or the system prompt and that has plays left. (The first user message is everything before the
//! first assistant message.)
//!
//! **Which turn.** The number of assistant messages in the request is the number of turns already taken; in the Responses
//! API, of unbroken runs of the assistant's items. The server keeps no other position, so a client may resend, fork or resume.
//!
//! **Which play.** Each conversation begun is a *play*, numbered from 1 over the whole server. A request without assistant
//! messages begins a new play, unless the latest play with the same first message is still waiting for its first reply:
//! then it is a retry of that one. A later request belongs to the latest play whose tool-call ids
//! (`toolu_<play>_<turn>_<n>`) it contains; without any (Ollama, Gemini before 3), to the latest play with the same first
//! message; if that is unknown too, it opens a new play at its own position (a session resumed against a fresh server).
//!
//! **Faults** stand in front of the next reply: in a turn of their own before it, or in the same turn. They take no position.
//! Each is served `times` times (default 1) per play, in order, and then the reply. Faults at the end of a conversation
//! have no reply after them; when they are used up, the same first message begins a new play.
//!
//! | `kind` | further keys | what the client sees |
//! |---|---|---|
//! | `status` | `status` (400 to 599) and those below | an error response; a 502 without `message` is a web page |
//! | `invalid_key`, `quota`, `context_length`, `overloaded` | `message`, `retry_after` (seconds) or `retry_after_ms`, `headers`, `error` (a table), `midway` | the error by which each service says it |
//! | `empty` | | a reply that says nothing |
//! | `cut` | | the first half of the reply, then a broken connection |
//! | `malformed` | | the reply with broken JSON in the middle |
//! | `silence` | `midway` | response headers, with `midway` half of the reply, then nothing for up to [`SILENCE`] |
//! | `slow` | `millis` (at most 60000) | the whole reply, each piece that much later: this one *is* the reply |
//!
//! Errors have the status, code and words of the service unless `message` gives others; the keys of `error` stand in the
//! service's own `error` too, such as `error = { type = "usage_limit_reached" }`. With `midway = true` the error comes
//! within the stream, after half of the reply; without a stream it is an error response all the same. OpenAI Responses
//! always complains of `context_length` within a stream. The time to wait is a header, `retry-after` in whole seconds and
//! `retry-after-ms` if there is a rest, and in Gemini's body a `RetryInfo`.
//!
//! **Side requests**, those that offer no tools (titles, summaries), are answered with a short text and touch no script.
//! What the service itself would reject (no messages, unanswered tool calls, two system messages) gets a 400 and is a
//! problem; so is a request for which the script has no conversation or no turn.

mod conversation;
mod delivery;
pub mod honesty;
mod log;
mod reply;
mod routes;
mod script;
mod server;
mod wire;

pub use delivery::SILENCE;
pub use log::{Answer, Asked, Place};
pub use script::{Script, ScriptError};
pub use server::Server;
