//! The variables that an agent starts with: its arguments, the environment variables it declares, and standard input.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::definition::AgentFile;

/// The variable that contains the text from standard input.
pub const INPUT_TEXT: &str = "input_text";

/// Values by variable name, without the prefix `uv-`.
pub type Variables = BTreeMap<String, String>;

/// A value as text for a prompt: strings as they are, lists and objects as JSON, null as the empty string.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The variables that an agent starts with. Only declared environment variables are looked up; an argument takes precedence
/// over an environment variable with the same name.
pub fn gather(
    agent: &AgentFile,
    arguments: &BTreeMap<String, Value>,
    environment: impl Fn(&str) -> Option<String>,
    input: Option<&str>,
) -> Variables {
    let declared = agent.environment.iter();
    let mut variables: Variables =
        declared.filter_map(|name| Some((name.clone(), environment(name)?))).collect();
    variables.extend(arguments.iter().map(|(name, value)| (name.clone(), text_of(value))));
    if let Some(input) = input.filter(|_| agent.stdin) {
        variables.insert(INPUT_TEXT.to_owned(), input.to_owned());
    }
    variables
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{gather, text_of};
    use crate::definition::AgentFile;

    fn agent(more: &Value) -> AgentFile {
        let mut agent = json!({"version": "1.0.0", "name": "a", "description": "It is for tests."});
        for (name, value) in more.as_object().expect("an object") {
            agent[name] = value.clone();
        }
        serde_json::from_value(agent).expect("an agent")
    }

    #[test]
    fn values_are_converted_to_text() {
        for (value, expected) in [
            (json!("a \"text\"\n"), "a \"text\"\n"),
            (json!(3), "3"),
            (json!(2.5), "2.5"),
            (json!(true), "true"),
            (json!(null), ""),
            (json!(["a", 1]), r#"["a",1]"#),
            (json!({"b": 1, "a": "x"}), r#"{"b":1,"a":"x"}"#),
        ] {
            assert_eq!(text_of(&value), expected);
        }
    }

    /// 変数マッピング契約: args: { origin: "Tokyo" } → variables: { "origin": "Tokyo" }
    #[test]
    fn an_argument_is_a_variable_of_the_same_name_without_a_prefix() {
        let arguments =
            BTreeMap::from([("origin".to_owned(), json!("Tokyo")), ("days".to_owned(), json!(3))]);
        let variables = gather(&agent(&json!({})), &arguments, |_| None, None);
        assert_eq!(variables, [("days", "3"), ("origin", "Tokyo")].map(|(a, b)| (a.into(), b.into())).into());
    }

    #[test]
    fn only_declared_environment_variables_are_read_and_arguments_take_precedence() {
        let agent = agent(&json!({"environment": ["A", "B", "NOT_SET"]}));
        let looked_up = RefCell::new(Vec::new());
        let lookup = |name: &str| {
            looked_up.borrow_mut().push(name.to_owned());
            (name != "NOT_SET").then(|| "from the environment".to_owned())
        };
        let arguments = BTreeMap::from([("B".to_owned(), json!("given"))]);
        let variables = gather(&agent, &arguments, lookup, None);
        assert_eq!(*looked_up.borrow(), ["A", "B", "NOT_SET"]);
        assert_eq!(variables["A"], "from the environment");
        assert_eq!(variables["B"], "given");
        assert_eq!(variables.len(), 2);
    }

    #[test]
    fn standard_input_is_a_variable_only_if_the_agent_reads_it() {
        let arguments = BTreeMap::new();
        let reads = gather(&agent(&json!({"stdin": true})), &arguments, |_| None, Some("text"));
        assert_eq!(reads["input_text"], "text");
        assert!(gather(&agent(&json!({})), &arguments, |_| None, Some("text")).is_empty());
        assert!(gather(&agent(&json!({"stdin": true})), &arguments, |_| None, None).is_empty());
    }
}
