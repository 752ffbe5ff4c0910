//! A model server that follows a script: for tests, the demo and benchmarks.
//!
//! [`Server::start`] listens on loopback, on a thread of its own, and answers as a model service would, except that every
//! answer was written down beforehand. It keeps what it was asked ([`Server::requests`]) and what went against the script
//! ([`Server::problems`]); a test ends by asserting that there were no problems. Today it speaks the Anthropic Messages API.
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
//!   usage = { input = 1200, output = 340, cache_read = 0, cache_write = 0 }
//!   stop = "end_turn"
//! # "#)?;
//! # let server = Server::start(script)?;
//! # assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! # assert!(server.problems().is_empty());
//! # Ok::<(), autonoe_scripted::ScriptError>(())
//! ```
//!
//! **A turn** is one reply: `thinking`, then `text`, then each `call` (`input` defaults to no arguments). `stop` is
//! `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn` or `refusal`; by default `tool_use` if there are calls,
//! else `end_turn`. Whatever `usage` leaves out is estimated from lengths (cache figures: 0).
//!
//! **Which conversation.** A request that begins a conversation goes to the first `[[conversation]]` whose `when` occurs in
//! the first user message or the system prompt and that has plays left. (The first user message is everything before the
//! first assistant message.)
//!
//! **Which turn.** The number of assistant messages in the request is the number of turns already taken. The server keeps no
//! other position, so a client may resend, fork or resume.
//!
//! **Which play.** Each conversation begun is a *play*, numbered from 1 over the whole server. A request without assistant
//! messages begins a new play, unless the latest play with the same first message is still waiting for its first reply:
//! then it is a retry of that one. A later request belongs to the latest play whose tool-call ids
//! (`toolu_<play>_<turn>_<n>`) it contains; without any, to the latest play with the same first message; if that is unknown
//! too, it opens a new play at its own position (a session resumed against a fresh server).
//!
//! **Faults** stand in front of the next reply: in a turn of their own before it, or in the same turn. They take no position.
//! Each is served `times` times (default 1) per play, in order, and then the reply. Faults at the end of a conversation
//! have no reply after them; when they are used up, the same first message begins a new play.
//!
//! | `kind` | further keys | what the client sees |
//! |---|---|---|
//! | `status` | `status` (400 to 599), `message`, `retry_after` (seconds), `headers` | an error response |
//! | `cut` | | the first half of the reply, then a broken connection |
//! | `malformed` | | the reply with broken JSON in the middle |
//! | `silence` | | response headers, then nothing for up to [`SILENCE`] |
//! | `slow` | `millis` (at most 60000) | the whole reply, each piece that much later: this one *is* the reply |
//!
//! **Side requests**, those that offer no tools (titles, summaries), are answered with a short text and touch no script.
//! What the service itself would reject (no messages, unanswered tool calls, two system messages) gets a 400 and is a
//! problem; so is a request for which the script has no conversation or no turn.

mod conversation;
mod delivery;
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
