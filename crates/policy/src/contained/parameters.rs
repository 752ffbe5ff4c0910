//! Positional parameters: what `"$@"` and `$1` are in a function, in `sh -c script name …`, and after `set --`.

use super::{ContainedWalk, MAX_FUNCTION_CALLS, MAX_FUNCTION_DEPTH, too_much};
use crate::shell::ast::Script;
use crate::verdict::RuleResult;
use crate::words::Arg;

/// The parameters that are known one by one.
const NUMBERED: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

impl ContainedWalk<'_> {
    /// Judges the body of a function with the arguments of a call.
    pub fn function_call(&mut self, argv: &[Arg], script: &Script) -> RuleResult {
        let Some((name, args)) = argv.split_first().filter(|(_, args)| !args.is_empty()) else {
            return Ok(());
        };
        let Some(body) = name.literal().and_then(|name| self.functions.get(name)).cloned() else {
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
        let result = self.with_parameters(args, |walk| walk.command(&body, script));
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
        for name in NUMBERED.into_iter().chain(["@", "*"]) {
            match before.get(name) {
                Some(value) => self.variables.insert(name.to_owned(), value.clone()),
                None => self.variables.remove(name),
            };
        }
        result
    }

    pub fn set_parameters(&mut self, args: &[Arg]) {
        let texts: Vec<&str> = args.iter().map(|arg| arg.script().unwrap_or_default()).collect();
        let joined = texts.join(" ");
        self.remember("@", &joined);
        self.remember("*", &joined);
        for (at, name) in NUMBERED.iter().enumerate() {
            self.remember(name, texts.get(at).copied().unwrap_or_default());
        }
    }
}
