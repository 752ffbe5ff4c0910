//! Positional parameters: what `"$@"` and `$1` are in a function, in `sh -c script name …`, and after `set --`.

use std::rc::Rc;

use super::variables::Value;
use super::{ContainedWalk, MAX_FUNCTION_CALLS, MAX_FUNCTION_DEPTH, too_much};
use crate::shell::ast::Command;
use crate::verdict::RuleResult;
use crate::words::{Arg, ArgKind, UNKNOWN_PART};

/// The most definitions of one function that are judged.
const MAX_DEFINITIONS: usize = 16;

impl ContainedWalk<'_> {
    /// Judges a function when it is defined, and keeps it. Another definition may not have run, so it is kept too.
    pub fn define(&mut self, name: &str, body: &Command) -> RuleResult {
        let known = self.functions.entry(name.to_owned()).or_default();
        if known.len() == MAX_DEFINITIONS {
            return too_much();
        }
        if !known.iter().any(|(_, known)| known == body) {
            known.push((Rc::clone(&self.script), body.clone()));
        }
        self.perhaps(|walk| {
            let before = walk.variables.clone();
            walk.variables.set("@", vec![Value::Unset]);
            let result = walk.command(body);
            walk.variables.restore("@", &before);
            result
        })
    }

    /// Judges the body of a function with the arguments of a call.
    pub fn function_call(&mut self, argv: &[Arg]) -> RuleResult {
        let Some((name, args)) = argv.split_first() else { return Ok(()) };
        let Some(bodies) = name.literal().and_then(|name| self.functions.get(name)).cloned() else {
            return Ok(());
        };
        // A function that calls itself with the same arguments has been judged with them.
        if self.active_calls.iter().any(|active| active == argv) {
            return Ok(());
        }
        if self.function_calls == MAX_FUNCTION_CALLS || self.active_calls.len() == MAX_FUNCTION_DEPTH {
            return too_much();
        }
        self.function_calls += 1;
        self.active_calls.push(argv.to_vec());
        let locals = std::mem::take(&mut self.locals);
        let before = self.variables.clone();
        let result = self.in_each_way(&bodies, |walk, (script, body)| {
            let outer = std::mem::replace(&mut walk.script, Rc::clone(script));
            let result = walk.with_parameters(args, |walk| walk.command(body));
            walk.script = outer;
            result
        });
        for name in std::mem::replace(&mut self.locals, locals) {
            self.variables.restore(&name, &before);
        }
        self.active_calls.pop();
        result
    }

    /// Judges something in which these arguments are the positional parameters.
    pub fn with_parameters(
        &mut self,
        args: &[Arg],
        judge: impl FnOnce(&mut Self) -> RuleResult,
    ) -> RuleResult {
        let before = self.variables.clone();
        self.set_parameters(args);
        let result = judge(self);
        self.variables.restore("@", &before);
        result
    }

    pub fn set_parameters(&mut self, args: &[Arg]) {
        let words = args.iter().map(known_text).collect();
        self.variables.set("@", vec![Value::words(words)]);
    }

    /// `set -- words`, or `set words`.
    pub fn set(&mut self, args: &[Arg]) {
        let is_option = |arg: &&Arg| arg.text.starts_with(['-', '+']);
        match args.iter().position(|arg| arg.literal() == Some("--")) {
            Some(at) => self.set_parameters(&args[at + 1..]),
            None if args.first().is_some_and(|first| !is_option(&first)) => self.set_parameters(args),
            None => {}
        }
    }

    /// `shift`
    pub fn shift(&mut self, args: &[Arg]) {
        let count = args.first().map_or(Some(1), |arg| arg.literal()?.parse::<usize>().ok());
        let shifted = |value: &Value| match value {
            Value::Unset => Value::Unset,
            Value::Words(words) => Value::words(words.iter().skip(count.unwrap_or(1)).cloned().collect()),
        };
        let values = self.variables.possible("@").iter().map(shifted).collect();
        self.variables.set("@", values);
    }
}

/// The text of an argument, with [`UNKNOWN_PART`] for what is not known.
pub fn known_text(arg: &Arg) -> String {
    match arg.kind {
        ArgKind::Plain | ArgKind::Glob => arg.text.clone(),
        ArgKind::Unknown | ArgKind::Several if arg.outline.is_empty() => {
            format!("{}{UNKNOWN_PART}", arg.text)
        }
        ArgKind::Unknown | ArgKind::Several => arg.outline.clone(),
    }
}
