//! A model server that follows a script: for tests, the demo and benchmarks.
//!
//! [`ScriptedServer::start`] listens on loopback, on its own thread, and answers as a model service would, with replies that
//! are read from a script. It records the requests ([`ScriptedServer::requests`]) and everything that did not match the script
//! ([`ScriptedServer::problems`]); a test ends by asserting that there were no problems.
//!
//! One script works for every API, and one server serves all of them at once:
//!
//! | API | path | field that signs thinking |
//! |---|---|---|
//! | Anthropic Messages | `/v1/messages`, `…/count_tokens` | `signature` |
//! | OpenAI Responses | `/v1/responses` | `encrypted_content`, if the request includes it |
//! | OpenAI Chat Completions | `/v1/chat/completions` | none |
//! | Gemini | `/v1beta/models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens` | `thoughtSignature` |
//! | Ollama | `/api/chat` | none |
//!
//! Lists of models (`/v1/models`, `/v1beta/models`, `/api/tags`) have one entry, `scripted`; any name is accepted.
//!
//! # The script
//!
//! ```
//! # use autonoe_scripted::{ModelScript, ScriptedServer};
//! # let script = ModelScript::parse(r#"
//! [[conversation]]
//! name = "initializer"          # for the log; default "conversation 1", "conversation 2", …
//! when = "priority-ordered"     # string or array of strings, all of which must occur; omitted: matches everything
//! plays = 1                     # how many times it may be used; omitted: any number
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
//!   expect = "Word count"       # like `when`, matched against the newest tool results and user messages; a miss is a problem
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
//! # let server = ScriptedServer::start(script)?;
//! # assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! # assert!(server.problems().is_empty());
//! # Ok::<(), autonoe_scripted::ScriptError>(())
//! ```
//!
//! **A turn** is one reply: `thinking`, then `text`, then each `call` (`input` defaults to no arguments; a string is sent
//! verbatim, for arguments that are not JSON). `stop` is `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn` or
//! `refusal`; the default is `tool_use` if there are calls, else `end_turn`. In `usage`, `input` counts uncached tokens and
//! `reasoning` is part of `output`; missing numbers are estimated from lengths (cache numbers: 0).
//!
//! **OpenAI Responses tools** that take plain text get `input` as a string. If the client offers tool search,
//! `mcp__server__tool` is called as a tool found by that search, in its namespace.
//!
//! **MCP tools** are written `mcp__server__tool`. If a client offers them as `mcp_server_tool`, they are called by that name.
//!
//! **Images** in tool results and messages appear to `when` and `expect` as `[image image/png]`, or `[image]` if the type is
//! unknown.
//!
//! **Signatures.** If thinking is signed and followed by calls, the next request must send the thinking back with its
//! signature wherever the service requires it; a missing signature is a problem.
//!
//! **Choosing the conversation.** A request that begins a conversation goes to the first `[[conversation]]` that has plays
//! left and whose `when` occurs in the first user message or the system prompt. (The first user message is everything before
//! the first assistant message.)
//!
//! **Choosing the turn.** The number of assistant messages in the request is the number of turns already taken; in the
//! Responses API, the number of unbroken runs of assistant items. The server keeps no other position, so a client may resend,
//! fork or resume.
//!
//! **Plays.** Each time a conversation begins is a *play*, numbered from 1 across the whole server. A request without assistant
//! messages begins a new play, unless the latest play with the same first message still awaits its first reply: then the
//! request is a retry. A later request belongs to the latest play whose tool-call ids (`toolu_<play>_<turn>_<n>`) it contains;
//! without any (Ollama, Gemini before 3), to the latest play with the same first message; if there is none, it opens a new
//! play at its own position (a session resumed against a fresh server).
//!
//! **Faults** precede the next reply: in a turn of their own before it, or in the same turn. They take no position. Each is
//! served `times` times (default 1) per play, in order, before the reply. Faults at the end of a conversation have no reply
//! after them; when they are used up, the same first message begins a new play.
//!
//! | `kind` | further keys | what the client sees |
//! |---|---|---|
//! | `status` | `status` (400 to 599) and those below | an error response; a 502 without `message` is an HTML page |
//! | `invalid_key`, `quota`, `context_length`, `overloaded` | `message`, `retry_after` (seconds) or `retry_after_ms`, `headers`, `error` (a table), `midway` | that error as each service reports it |
//! | `empty` | | a reply without content |
//! | `cut` | | the first half of the reply, then a broken connection |
//! | `malformed` | | the reply with broken JSON in the middle |
//! | `silence` | `midway` | response headers, with `midway` half of the reply, then nothing for up to [`SILENCE`] |
//! | `slow` | `millis` (at most 60000) | the whole reply, each piece delayed by that much; it counts as the reply |
//!
//! Errors have the service's own status, code and message unless `message` replaces the message; the keys of `error` are
//! merged into the `error` object of the body, such as `error = { type = "usage_limit_reached" }`. With `midway = true` the
//! error comes within the stream, after half of the reply; a request without a stream still gets an error response. OpenAI
//! Responses always reports `context_length` within a stream. The time to wait is a header, `retry-after` in whole seconds and
//! `retry-after-ms` if seconds are not exact, and for Gemini a `RetryInfo` in the body.
//!
//! **Side requests**, those that offer no tools (titles, summaries), get a short text and do not advance the script.
//! Requests that the service itself would reject (no messages, unanswered tool calls, two system messages) get a 400 and are
//! problems; so is a request for which the script has no conversation or no turn.

mod delivery;
mod log;
mod player;
mod reply;
mod routes;
mod script;
mod server;
mod wire;

pub use delivery::SILENCE;
pub use log::{LoggedRequest, ScriptPosition, ScriptedAnswer};
pub use script::{ModelScript, ScriptError};
pub use server::ScriptedServer;
