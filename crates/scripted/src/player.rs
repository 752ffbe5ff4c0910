//! Finds the conversation, play and turn that a request belongs to, by the rules in the crate documentation. Independent
//! of HTTP and of the wire formats.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::log::ScriptPosition;
use crate::reply::{
    CallForm, Prompt, ScriptFault, WireCall, WireReply, WireThinking, WireUsage, beginning, estimated_tokens,
    fingerprint, signature,
};
use crate::script::{ModelScript, ScriptCall, ScriptConversation, ScriptReply};

/// Beyond this limit a client is looping, and its requests are refused.
const MAX_PLAYS: usize = 100_000;

#[derive(Debug)]
pub(crate) struct ScriptPlayer {
    script: ModelScript,
    plays: Vec<ScriptPlay>,
}

/// One conversation with a client. Its number is its index in [`ScriptPlayer::plays`] plus 1.
#[derive(Debug)]
struct ScriptPlay {
    conversation: usize,
    first_message: u64,
    replied: bool,
    /// The number of faults served before each turn.
    faults_served: BTreeMap<usize, u32>,
}

#[derive(Debug)]
pub(crate) struct PlannedAnswer {
    pub position: ScriptPosition,
    pub fault: Option<ScriptFault>,
    /// Empty if only faults are left.
    pub reply: WireReply,
    /// One sentence for each expectation that the request does not meet.
    pub unmet: Vec<String>,
}

/// Why the script has no answer to a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("the server reached its limit of {MAX_PLAYS} conversations")]
    TooManyPlays,
    #[error("no conversation matches a request that begins with {begins:?}")]
    NoMatch { begins: String },
    #[error("{} has no plays left for a request that begins with {begins:?}", names.join(", "))]
    UsedUp { names: Vec<String>, begins: String },
    #[error("conversation {name:?} has {turns} turns with a reply, but turn {requested} was requested")]
    Exhausted { name: String, turns: usize, requested: usize },
}

impl ScriptPlayer {
    pub fn new(script: ModelScript) -> ScriptPlayer {
        ScriptPlayer { script, plays: Vec::new() }
    }

    pub fn next(&mut self, prompt: &Prompt) -> Result<PlannedAnswer, NoAnswer> {
        let number = match self.ongoing(prompt) {
            Some(number) => number,
            None => self.open(prompt)?,
        };
        let play = &mut self.plays[number - 1];
        let conversation = &self.script.conversations[play.conversation];
        let index = prompt.assistants;
        let served = play.faults_served.get(&index).copied().unwrap_or(0);
        let turn = conversation.turns.get(index);
        let fault = turn.and_then(|turn| turn.fault_after(served)).cloned();
        let scripted = turn.and_then(|turn| turn.reply.as_ref());
        if fault.is_none() && scripted.is_none() {
            return Err(exhausted(conversation, index));
        }
        let delivers = fault.as_ref().is_none_or(ScriptFault::delivers);
        if fault.is_some() {
            play.faults_served.insert(index, served + 1);
        }
        play.replied |= delivers;
        let scripted = scripted.cloned().unwrap_or_default();
        let mut unmet = Vec::new();
        if delivers {
            let before = index.checked_sub(1).and_then(|last| conversation.turns[last].reply.as_ref());
            unmet.extend(before.and_then(|before| missing_signature(before, index, prompt)));
            unmet.extend(missing_texts(&scripted.expect, prompt));
        }
        let position =
            ScriptPosition { conversation: conversation.name.clone(), play: number, turn: index + 1 };
        Ok(PlannedAnswer { reply: reply(&scripted, number, position.turn, prompt), unmet, position, fault })
    }

    /// The play that a prompt continues or retries.
    fn ongoing(&self, prompt: &Prompt) -> Option<usize> {
        let same_first_message = || {
            let first_message = fingerprint(&prompt.first);
            self.plays.iter().rposition(|play| play.first_message == first_message).map(|index| index + 1)
        };
        if prompt.assistants == 0 {
            return same_first_message().filter(|number| self.awaits_first_reply(&self.plays[number - 1]));
        }
        let own = |number: &usize| (1..=self.plays.len()).contains(number);
        prompt.call_ids.iter().filter_map(|id| play_of_call(id)).filter(own).max().or_else(same_first_message)
    }

    fn awaits_first_reply(&self, play: &ScriptPlay) -> bool {
        let served = play.faults_served.get(&0).copied().unwrap_or(0);
        let something_left = self.script.conversations[play.conversation]
            .turns
            .first()
            .is_some_and(|turn| turn.reply.is_some() || turn.fault_after(served).is_some());
        !play.replied && something_left
    }

    /// Begins a play of the first conversation that matches and has plays left.
    fn open(&mut self, prompt: &Prompt) -> Result<usize, NoAnswer> {
        if self.plays.len() >= MAX_PLAYS {
            return Err(NoAnswer::TooManyPlays);
        }
        let matching = self
            .script
            .conversations
            .iter()
            .enumerate()
            .filter(|(_, conversation)| matches(conversation, prompt));
        let mut used_up = Vec::new();
        for (index, conversation) in matching {
            let played = || self.plays.iter().filter(|play| play.conversation == index).count();
            if conversation.plays.is_none_or(|allowed| played() < allowed as usize) {
                let first_message = fingerprint(&prompt.first);
                self.plays.push(ScriptPlay {
                    conversation: index,
                    first_message,
                    replied: false,
                    faults_served: BTreeMap::new(),
                });
                return Ok(self.plays.len());
            }
            used_up.push(format!("{:?}", conversation.name));
        }
        let begins = beginning(&prompt.first);
        Err(match used_up.is_empty() {
            true => NoAnswer::NoMatch { begins },
            false => NoAnswer::UsedUp { names: used_up, begins },
        })
    }
}

fn matches(conversation: &ScriptConversation, prompt: &Prompt) -> bool {
    conversation.when.iter().all(|text| prompt.first.contains(text) || prompt.system.contains(text))
}

fn exhausted(conversation: &ScriptConversation, index: usize) -> NoAnswer {
    let turns = conversation.turns.iter().filter(|turn| turn.reply.is_some()).count();
    NoAnswer::Exhausted { name: conversation.name.clone(), turns, requested: index + 1 }
}

fn missing_texts(expected: &[String], prompt: &Prompt) -> impl Iterator<Item = String> {
    let newest = beginning(&prompt.newest);
    let absent = expected.iter().filter(|text| !prompt.newest.contains(*text));
    absent.map(move |text| format!("expected {text:?}, got a request that begins with {newest:?}"))
}

/// Services require signed thinking to be sent back with the results of the calls that followed it.
fn missing_signature(before: &ScriptReply, turn: usize, prompt: &Prompt) -> Option<String> {
    let thinking = before.thinking.as_deref().filter(|_| prompt.signed && !before.calls.is_empty())?;
    let is_sent_back = prompt.signatures.contains(&signature(thinking));
    (!is_sent_back).then(|| format!("the request lacks the signed thinking of turn {turn}"))
}

/// The answer to a request that offers no tools.
pub(crate) fn side_reply(prompt: &Prompt) -> WireReply {
    let scripted = ScriptReply { text: Some(SIDE_TEXT.to_owned()), ..ScriptReply::default() };
    WireReply { id: "side".to_owned(), ..reply(&scripted, 0, 0, prompt) }
}

const SIDE_TEXT: &str = "Scripted answer to a side request.";

fn reply(scripted: &ScriptReply, play: usize, turn: usize, prompt: &Prompt) -> WireReply {
    let call = |(index, call): (usize, &ScriptCall)| {
        let (tool, form) = call_name(&call.tool, prompt);
        let id = format!("{CALL_PREFIX}{play}_{turn}_{}", index + 1);
        WireCall { id, tool, input: call.input.clone(), form }
    };
    WireReply {
        id: format!("{play}_{turn}"),
        model: prompt.model.clone(),
        thinking: scripted.thinking.as_ref().map(|text| WireThinking {
            text: text.clone(),
            signature: prompt.signed.then(|| signature(text)),
        }),
        text: scripted.text.clone(),
        calls: scripted.calls.iter().enumerate().map(call).collect(),
        stop: scripted.stop,
        usage: usage(scripted, prompt),
    }
}

/// The name and form in which to call a tool. An MCP tool may be offered as `mcp_server_tool`, as part of an offered
/// namespace, or be reachable by tool search; the search call itself is skipped.
fn call_name(tool: &str, prompt: &Prompt) -> (String, CallForm) {
    if prompt.freeform.iter().any(|name| name == tool) {
        return (tool.to_owned(), CallForm::Freeform);
    }
    let is_respelled = |name: &&String| name.starts_with("mcp_") && **name == tool.replace("__", "_");
    if let Some(name) = prompt.tools.iter().find(is_respelled) {
        return (name.clone(), CallForm::Plain);
    }
    let within = |name: &String| tool.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with("__"));
    let is_named = prompt.tools.iter().any(|name| name == tool);
    let found = !is_named && (prompt.searches || prompt.tools.iter().any(within));
    match tool.strip_prefix("mcp__").filter(|_| found).and_then(|rest| rest.split_once("__")) {
        Some((server, name)) => (name.to_owned(), CallForm::Within(format!("mcp__{server}"))),
        None => (tool.to_owned(), CallForm::Plain),
    }
}

/// The script's numbers, with estimates for those it leaves out.
fn usage(scripted: &ScriptReply, prompt: &Prompt) -> WireUsage {
    let thinking = || scripted.thinking.as_ref().map_or(0, |thinking| estimated_tokens(thinking.len()));
    let all_output = || {
        let texts = [&scripted.thinking, &scripted.text].into_iter().flatten().map(String::len);
        let calls = scripted.calls.iter().map(|call| call.tool.len() + call.input.to_string().len());
        estimated_tokens(texts.chain(calls).sum())
    };
    let output = scripted.usage.output.unwrap_or_else(all_output);
    WireUsage {
        input: scripted.usage.input.unwrap_or_else(|| estimated_tokens(prompt.bytes)),
        cache_read: scripted.usage.cache_read.unwrap_or(0),
        cache_write: scripted.usage.cache_write.unwrap_or(0),
        output,
        reasoning: scripted.usage.reasoning.unwrap_or_else(thinking).min(output),
    }
}

const CALL_PREFIX: &str = "toolu_";

/// The play in `toolu_<play>_<turn>_<n>`.
fn play_of_call(id: &str) -> Option<usize> {
    let (play, _) = id.strip_prefix(CALL_PREFIX)?.split_once('_')?;
    play.parse().ok()
}
