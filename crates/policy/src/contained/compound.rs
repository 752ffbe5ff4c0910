//! The ways through a script: conditions, loops, pipes. What may not run adds values to variables, and replaces none.

use std::rc::Rc;

use super::expansions::identifiers;
use super::remotes::after_failure;
use super::variables::{Value, Variables};
use super::{ContainedWalk, MAX_LOOP_VALUES, MAX_LOOP_WALKS, calls, signals, too_much};
use crate::shell;
use crate::shell::ast::{CommandKind, Condition, Item, Join, List, Pipeline, Word};
use crate::verdict::RuleResult;
use crate::words::Arg;

/// How often a loop is judged until its variables have no more values.
const MAX_ROUNDS: usize = 4;

impl ContainedWalk<'_> {
    pub fn list(&mut self, list: &List) -> RuleResult {
        list.0.iter().try_for_each(|item| match item.background {
            _ if self.is_too_much.get() => too_much(),
            true => self.perhaps(|walk| walk.item(item)),
            false => self.item(item),
        })
    }

    /// Pipelines joined by `&&` and `||`: what a variable is in one of them depends on which ones have run before it.
    fn item(&mut self, item: &Item) -> RuleResult {
        let before = self.variables.clone();
        self.pipeline(&item.first)?;
        let mut succeeded = self.variables.clone();
        let mut failed = after_failure(&before, self.variables.clone());
        for (join, pipeline) in &item.rest {
            let (before, other) = match join {
                Join::And => (&mut succeeded, &mut failed),
                Join::Or => (&mut failed, &mut succeeded),
            };
            self.variables = before.clone();
            self.pipeline(pipeline)?;
            *before = self.variables.clone();
            other.join(&self.variables);
        }
        self.variables = succeeded;
        self.variables.join(&failed);
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> RuleResult {
        let Some((last, before)) = pipeline.commands.split_last() else { return Ok(()) };
        if before.is_empty() {
            return self.command(last);
        }
        let outer = Rc::clone(&self.input);
        for command in before {
            let (result, texts) = self.captured(|walk| walk.perhaps(|walk| walk.command(command)));
            result?;
            self.add_input(texts);
        }
        self.perhaps(|walk| walk.command(last))?;
        self.input = outer;
        Ok(())
    }

    /// Judges something that may not run, or that cannot change the shell's variables.
    pub fn perhaps(&mut self, judge: impl FnOnce(&mut Self) -> RuleResult) -> RuleResult {
        let before = self.variables.clone();
        judge(self)?;
        self.variables.join(&before);
        Ok(())
    }

    /// Judges each of several ways on which the script may go on from here.
    pub fn in_each_way<T>(
        &mut self,
        ways: &[T],
        mut judge: impl FnMut(&mut Self, &T) -> RuleResult,
    ) -> RuleResult {
        let before = self.variables.clone();
        let mut after: Option<Variables> = None;
        for way in ways {
            self.variables = before.clone();
            judge(self, way)?;
            match &mut after {
                Some(after) => after.join(&self.variables),
                None => after = Some(self.variables.clone()),
            }
        }
        self.variables = after.unwrap_or(before);
        Ok(())
    }

    pub fn kind(&mut self, kind: &CommandKind) -> RuleResult {
        match kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Subshell(list) => self.perhaps(|walk| walk.list(list)),
            CommandKind::Group(list) => self.list(list),
            CommandKind::If { arms, otherwise } => {
                let mut after: Option<Variables> = None;
                let mut meet = |variables: &Variables| match &mut after {
                    Some(after) => after.join(variables),
                    None => after = Some(variables.clone()),
                };
                for (condition, body) in arms {
                    self.list(condition)?;
                    let before = self.variables.clone();
                    self.list(body)?;
                    meet(&self.variables);
                    self.variables = before;
                }
                otherwise.as_ref().map_or(Ok(()), |body| self.list(body))?;
                meet(&self.variables);
                self.variables = after.unwrap_or_default();
                Ok(())
            }
            CommandKind::For { name, values, body } => self.for_loop(name, values.as_deref(), body),
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().try_for_each(|expression| self.arithmetic(expression))?;
                self.repeatedly(|walk| walk.list(body))
            }
            CommandKind::While { condition, body } => self.repeatedly(|walk| {
                walk.list(condition)?;
                walk.list(body)
            }),
            CommandKind::Case { subject, arms } => {
                self.word(subject)?;
                for (patterns, _) in arms {
                    patterns.iter().try_for_each(|pattern| self.word(pattern))?;
                }
                let is_any = |patterns: &[Word]| patterns.iter().any(|pattern| pattern.bare() == Some("*"));
                let mut ways: Vec<Option<&List>> = arms.iter().map(|(_, body)| Some(body)).collect();
                if !arms.iter().any(|(patterns, _)| is_any(patterns)) {
                    ways.push(None);
                }
                self.in_each_way(&ways, |walk, body| body.map_or(Ok(()), |body| walk.list(body)))
            }
            CommandKind::Function { name, body } => self.define(name, body),
            CommandKind::Test(conditions) => conditions.iter().try_for_each(|condition| match condition {
                Condition::Bare(word) | Condition::Unary(_, word) => self.operand(word),
                Condition::Binary(left, _, right) => {
                    self.operand(left)?;
                    self.operand(right)
                }
            }),
            CommandKind::Arithmetic(expression) => self.arithmetic(expression),
        }
    }

    /// Judges something until that gives variables no more values.
    fn repeatedly(&mut self, mut judge: impl FnMut(&mut Self) -> RuleResult) -> RuleResult {
        for _ in 0..MAX_ROUNDS {
            if self.loop_walks == MAX_LOOP_WALKS {
                return too_much();
            }
            self.loop_walks += 1;
            let before = self.variables.clone();
            self.perhaps(&mut judge)?;
            if self.variables == before {
                break;
            }
        }
        Ok(())
    }

    fn for_loop(&mut self, name: &str, values: Option<&[Word]>, body: &List) -> RuleResult {
        calls::judge_variable(name)?;
        let mut args: Vec<Arg> = Vec::new();
        for value in values.unwrap_or_default() {
            self.word(value)?;
            let expanded = self.in_each_case(&[value], &["IFS"], |walk| walk.expand(value));
            args.extend(expanded.into_iter().flatten());
        }
        let mut texts: Vec<String> = args.iter().filter_map(Arg::script).map(str::to_owned).collect();
        let is_known = texts.len() == args.len() && values.is_some();
        if values.is_none() {
            let parameters = self.variables.possible("@");
            texts.extend(parameters.iter().flat_map(|value| value.elements().to_vec()));
        }
        if texts.len() > MAX_LOOP_VALUES {
            texts.sort();
            texts.dedup();
        }
        let before = self.variables.clone();
        if !is_known || texts.is_empty() {
            self.repeatedly(|walk| {
                walk.variables.set(name, vec![Value::unknown()]);
                walk.list(body)
            })?;
        }
        for (judged, text) in texts.iter().enumerate() {
            if self.loop_walks == MAX_LOOP_WALKS || judged == MAX_LOOP_VALUES {
                return too_much();
            }
            self.loop_walks += 1;
            self.remember(name, text);
            self.list(body)?;
        }
        self.variables.join(&before);
        Ok(())
    }

    /// Judges an arithmetic expression, and forgets the variables that it may set.
    pub fn arithmetic(&mut self, expression: &Word) -> RuleResult {
        self.word(expression)?;
        let is_parent = self.number(expression).as_deref() == Some(signals::PARENT);
        let set: Vec<String> = shell::variables_in(expression).map(|(name, _)| name).collect();
        for name in set {
            calls::judge_variable(&name)?;
            let value = if is_parent { Value::text(signals::PARENT) } else { Value::unknown() };
            let array = Rc::clone(&self.variables.possible(&name));
            // `a[i++]=x` sets an element.
            if array.iter().all(|value| value.elements().len() < 2) {
                self.variables.set(&name, vec![value]);
            }
        }
        // A content that is evaluated may have substitutions in an index.
        let names: Vec<String> = identifiers(expression).collect();
        let texts: Vec<String> = names.iter().flat_map(|name| self.variables.texts(name)).collect();
        texts.iter().try_for_each(|text| self.subscript(text))
    }
}
