//! Positional parameters: what `"$@"` and `$1` are in a function, in `sh -c script name …`, and after `set --`.

use super::{ContainedWalk, MAX_FUNCTION_CALLS, MAX_TEXT_DEPTH};
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
        if self.function_calls == MAX_FUNCTION_CALLS || self.text_depth == MAX_TEXT_DEPTH {
            return Ok(());
        }
        self.function_calls += 1;
        self.text_depth += 1;
        let result = self.with_parameters(args, |walk| walk.command(&body, script));
        self.text_depth -= 1;
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
        let texts: Vec<&str> = args.iter().map(|arg| arg.literal().unwrap_or_default()).collect();
        let joined = texts.join(" ");
        self.remember("@", &joined);
        self.remember("*", &joined);
        for (at, name) in NUMBERED.iter().enumerate() {
            self.remember(name, texts.get(at).copied().unwrap_or_default());
        }
    }
}
