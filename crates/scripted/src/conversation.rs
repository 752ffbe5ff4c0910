//! Which conversation, play and turn a request belongs to, by the rules on the crate's page. Knows nothing of HTTP or of
//! any wire format.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::log::Place;
use crate::reply::{
    Call, CallForm, Fault, Prompt, Reply, Thinking, Usage, beginning, estimated_tokens, fingerprint,
    signature,
};
use crate::script::{CallLine, Conversation, Line, Script};

/// More plays than this are refused: something is looping.
const MAX_PLAYS: usize = 100_000;

/// The script and every play of it so far.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Script,
    plays: Vec<Play>,
}

/// One conversation that a client holds. Its number is its place in [`Stage::plays`], counted from 1.
#[derive(Debug)]
struct Play {
    conversation: usize,
    first_message: u64,
    replied: bool,
    /// How many faults were served in front of each turn.
    faults_served: BTreeMap<usize, u32>,
}

/// What to answer.
#[derive(Debug)]
pub(crate) struct Cue {
    pub place: Place,
    pub fault: Option<Fault>,
    /// Empty if there are only faults left.
    pub reply: Reply,
    /// Each expectation that the request does not meet.
    pub unmet: Vec<String>,
}

impl Stage {
    pub fn new(script: Script) -> Stage {
        Stage { script, plays: Vec::new() }
    }

    /// The answer to a prompt, or a sentence saying why the script has none.
    pub fn next(&mut self, prompt: &Prompt) -> Result<Cue, String> {
        let number = match self.ongoing(prompt) {
            Some(number) => number,
            None => self.open(prompt)?,
        };
        let play = &mut self.plays[number - 1];
        let conversation = &self.script.conversations[play.conversation];
        let position = prompt.assistants;
        let served = play.faults_served.get(&position).copied().unwrap_or(0);
        let turn = conversation.turns.get(position);
        let fault = turn.and_then(|turn| turn.fault_after(served)).cloned();
        let line = turn.and_then(|turn| turn.line.as_ref());
        if fault.is_none() && line.is_none() {
            return Err(exhausted(conversation, position));
        }
        let delivers = fault.as_ref().is_none_or(Fault::delivers);
        if fault.is_some() {
            play.faults_served.insert(position, served + 1);
        }
        play.replied |= delivers;
        let line = line.cloned().unwrap_or_default();
        let mut unmet = Vec::new();
        if delivers {
            let before = position.checked_sub(1).and_then(|last| conversation.turns[last].line.as_ref());
            unmet.extend(before.and_then(|before| unsigned(before, position, prompt)));
            unmet.extend(missing(&line.expect, prompt));
        }
        let place = Place { conversation: conversation.name.clone(), play: number, turn: position + 1 };
        Ok(Cue { reply: reply(&line, number, place.turn, prompt), unmet, place, fault })
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

    fn awaits_first_reply(&self, play: &Play) -> bool {
        let served = play.faults_served.get(&0).copied().unwrap_or(0);
        let something_left = self.script.conversations[play.conversation]
            .turns
            .first()
            .is_some_and(|turn| turn.line.is_some() || turn.fault_after(served).is_some());
        !play.replied && something_left
    }

    /// Begins a play of the first conversation that matches and has plays left.
    fn open(&mut self, prompt: &Prompt) -> Result<usize, String> {
        if self.plays.len() >= MAX_PLAYS {
            return Err(format!("{MAX_PLAYS} conversations were served, and no more will be"));
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
                self.plays.push(Play {
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
            true => format!("no conversation matches a request that begins {begins:?}"),
            false => format!("no plays left of {} for a request that begins {begins:?}", used_up.join(", ")),
        })
    }
}

fn matches(conversation: &Conversation, prompt: &Prompt) -> bool {
    conversation.when.iter().all(|text| prompt.first.contains(text) || prompt.system.contains(text))
}

fn exhausted(conversation: &Conversation, position: usize) -> String {
    let turns = conversation.turns.iter().filter(|turn| turn.line.is_some()).count();
    format!(
        "conversation {:?} has {turns} turns with a reply, and turn {} was asked for",
        conversation.name,
        position + 1
    )
}

/// The expectations that a request does not meet.
fn missing(expected: &[String], prompt: &Prompt) -> impl Iterator<Item = String> {
    let newest = beginning(&prompt.newest);
    let absent = expected.iter().filter(|text| !prompt.newest.contains(*text));
    absent.map(move |text| format!("expected {text:?} in what begins {newest:?}"))
}

/// Services want signed thinking back while they wait for the results of its calls.
fn unsigned(before: &Line, turn: usize, prompt: &Prompt) -> Option<String> {
    let thinking = before.thinking.as_deref().filter(|_| prompt.signed && !before.calls.is_empty())?;
    let came_back = prompt.signatures.contains(&signature(thinking));
    (!came_back).then(|| format!("the thinking of turn {turn} did not come back as it was signed"))
}

/// The answer to a request that offers no tools.
pub(crate) fn side_reply(prompt: &Prompt) -> Reply {
    let line = Line { text: Some(SIDE_TEXT.to_owned()), ..Line::default() };
    Reply { id: "side".to_owned(), ..reply(&line, 0, 0, prompt) }
}

const SIDE_TEXT: &str = "Scripted answer to a side request.";

/// A line of the script as a reply in this play.
fn reply(line: &Line, play: usize, turn: usize, prompt: &Prompt) -> Reply {
    let call = |(index, call): (usize, &CallLine)| {
        let (tool, form) = called(&call.tool, prompt);
        let id = format!("{CALL_PREFIX}{play}_{turn}_{}", index + 1);
        Call { id, tool, input: call.input.clone(), form }
    };
    Reply {
        id: format!("{play}_{turn}"),
        model: prompt.model.clone(),
        thinking: line
            .thinking
            .as_ref()
            .map(|text| Thinking { text: text.clone(), signature: prompt.signed.then(|| signature(text)) }),
        text: line.text.clone(),
        calls: line.calls.iter().enumerate().map(call).collect(),
        stop: line.stop,
        usage: usage(line, prompt),
    }
}

/// The name by which a tool is called, and how. A tool of an MCP server that is not offered may be offered in another
/// spelling; or it is one of those that are found by a search, where there is one, or of a namespace that is offered; the
/// search itself is left out.
fn called(tool: &str, prompt: &Prompt) -> (String, CallForm) {
    if prompt.freeform.iter().any(|name| name == tool) {
        return (tool.to_owned(), CallForm::Freeform);
    }
    let is_other = |name: &&String| name.starts_with("mcp_") && **name == tool.replace("__", "_");
    if let Some(name) = prompt.tools.iter().find(is_other) {
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

/// What the script gives, and estimates for the rest.
fn usage(line: &Line, prompt: &Prompt) -> Usage {
    let thinking = || line.thinking.as_ref().map_or(0, |thinking| estimated_tokens(thinking.len()));
    let said = || {
        let texts = [&line.thinking, &line.text].into_iter().flatten().map(String::len);
        let calls = line.calls.iter().map(|call| call.tool.len() + call.input.to_string().len());
        estimated_tokens(texts.chain(calls).sum())
    };
    let output = line.usage.output.unwrap_or_else(said);
    Usage {
        input: line.usage.input.unwrap_or_else(|| estimated_tokens(prompt.bytes)),
        cache_read: line.usage.cache_read.unwrap_or(0),
        cache_write: line.usage.cache_write.unwrap_or(0),
        output,
        reasoning: line.usage.reasoning.unwrap_or_else(thinking).min(output),
    }
}

const CALL_PREFIX: &str = "toolu_";

/// The play in `toolu_<play>_<turn>_<n>`.
fn play_of_call(id: &str) -> Option<usize> {
    let (play, _) = id.strip_prefix(CALL_PREFIX)?.split_once('_')?;
    play.parse().ok()
}
