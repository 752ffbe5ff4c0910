//! What a provider says when it refuses: the words for a person and the codes for us, out of whatever shape it has.

use std::time::Duration;

use serde_json::Value;

use crate::page::Page;

/// The longest message that is passed on.
const LONGEST: usize = 300;

/// What was said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    /// For a person.
    pub message: String,
    /// The types, codes and statuses, the most particular first.
    pub codes: Vec<String>,
    /// How long to wait, where the body says so.
    pub wait: Option<Duration>,
    /// The quota that was exceeded is one of a day.
    pub daily: bool,
    /// A page for people that was said instead.
    pub page: Option<Page>,
}

impl Said {
    /// Reads the body of a response.
    pub fn in_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::in_value(&value),
            Err(_) => Self { message: first_line(body), page: Page::read(body), ..Self::default() },
        }
    }

    /// Reads a value that is an error, or has one in it. Shapes: `{"error": {…}}`, `{"error": "…"}`, `[{"error": …}]`,
    /// `{"message": …}`, `{"detail": …}`.
    pub fn in_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail"));
        let message = message.map_or_else(|| first_line(&value.to_string()), shortened);
        let details: Vec<&Value> =
            error.get("details").and_then(Value::as_array).into_iter().flatten().collect();
        let reasons = details.iter().filter_map(|detail| detail.get("reason").and_then(Value::as_str));
        let names = ["code", "type", "status"].into_iter().filter_map(text);
        Self {
            message,
            codes: reasons.chain(names).filter(|code| *code != "error").map(str::to_owned).collect(),
            wait: details.iter().find_map(|detail| seconds(detail.get("retryDelay")?.as_str()?)),
            daily: details.iter().any(|detail| is_daily(detail)),
            page: None,
        }
    }
}

/// Google's durations: `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

/// Google names the quotas that were exceeded: `GenerateRequestsPerDayPerProjectPerModel-FreeTier`.
fn is_daily(detail: &Value) -> bool {
    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
    let mut quotas = violations.filter_map(|violation| violation.get("quotaId").and_then(Value::as_str));
    quotas.any(|quota| quota.contains("PerDay"))
}

/// The first line of whatever came.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() { "no details were given".into() } else { line.chars().take(LONGEST).collect() }
}

fn shortened(text: &str) -> String {
    if text.trim().is_empty() {
        return first_line("");
    }
    let mut short: String = text.trim().chars().take(LONGEST).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::Said;
    use std::time::Duration;

    #[test]
    fn every_shape_is_understood() {
        for (body, message, codes) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy."}}"#,
                "Busy.",
                vec!["overloaded_error"],
            ),
            (
                r#"{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
                "No.",
                vec!["model_not_found", "invalid_request_error"],
            ),
            (
                r#"[{"error":{"code":404,"message":"No such model.","status":"NOT_FOUND"}}]"#,
                "No such model.",
                vec!["NOT_FOUND"],
            ),
            (r#"{"error":"model 'x' not found"}"#, "model 'x' not found", vec![]),
            (
                r#"{"object":"error","message":"Gone.","type":"NotFoundError","code":404}"#,
                "Gone.",
                vec!["NotFoundError"],
            ),
            (r#"{"detail":"Not Found"}"#, "Not Found", vec![]),
            (r#"{"type":"error","code":"server_error","message":"Oh."}"#, "Oh.", vec!["server_error"]),
            ("<html>\nmore", "<html>", vec![]),
            ("", "no details were given", vec![]),
            (r#"{"error":null}"#, r#"{"error":null}"#, vec![]),
        ] {
            let said = Said::in_body(body);
            assert_eq!(
                (said.message.as_str(), said.codes),
                (message, codes.iter().map(|code| (*code).to_owned()).collect()),
                "{body}"
            );
        }
    }

    #[test]
    fn google_says_more() {
        let said = Said::in_body(
            r#"{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED","details":[
                {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerDayPerModel"}]},
                {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"},
                {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}]}}"#,
        );
        assert_eq!(said.wait, Some(Duration::from_millis(34_500)));
        assert!(said.daily);
        assert_eq!(said.codes, ["RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"]);
    }

    #[test]
    fn a_message_has_an_end() {
        let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(5_000));
        assert_eq!(Said::in_body(&body).message.chars().count(), 301);
    }
}
