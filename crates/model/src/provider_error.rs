//! Error bodies of providers, whatever their shape: the message for a person and the codes for
//! classification.

use std::time::Duration;

use serde_json::Value;

use crate::web_page::WebPage;

/// Longer messages are cut, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProviderError {
    pub message: String,
    /// Types, codes and statuses, the most specific first.
    pub codes: Vec<String>,
    /// How long to wait, if the body says so.
    pub wait: Option<Duration>,
    /// Whether the exceeded quota is a daily one.
    pub daily: bool,
    /// Set if the body is an HTML page instead of an API error.
    pub page: Option<WebPage>,
}

impl ProviderError {
    pub fn from_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self { message: first_line(body), page: WebPage::read(body), ..Self::default() },
        }
    }

    /// Reads an error object or an object that contains one. Shapes: `{"error": {…}}`, `{"error": "…"}`,
    /// `[{"error": …}]`, `{"message": …}`, `{"detail": …}`.
    pub fn from_value(value: &Value) -> Self {
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

/// Google lists the exceeded quotas by id: `GenerateRequestsPerDayPerProjectPerModel-FreeTier`.
fn is_daily(detail: &Value) -> bool {
    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
    let mut quotas = violations.filter_map(|violation| violation.get("quotaId").and_then(Value::as_str));
    quotas.any(|quota| quota.contains("PerDay"))
}

pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() {
        "no details were given".into()
    } else {
        line.chars().take(MAX_MESSAGE_CHARS).collect()
    }
}

fn shortened(text: &str) -> String {
    if text.trim().is_empty() {
        return first_line("");
    }
    let mut short: String = text.trim().chars().take(MAX_MESSAGE_CHARS).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::ProviderError;
    use std::time::Duration;

    #[test]
    fn every_shape_is_parsed() {
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
            let error = ProviderError::from_body(body);
            assert_eq!(
                (error.message.as_str(), error.codes),
                (message, codes.iter().map(|code| (*code).to_owned()).collect()),
                "{body}"
            );
        }
    }

    #[test]
    fn google_details_are_parsed() {
        let error = ProviderError::from_body(
            r#"{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED","details":[
                {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerDayPerModel"}]},
                {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"},
                {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}]}}"#,
        );
        assert_eq!(error.wait, Some(Duration::from_millis(34_500)));
        assert!(error.daily);
        assert_eq!(error.codes, ["RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"]);
    }

    #[test]
    fn a_long_message_is_cut() {
        let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(5_000));
        assert_eq!(ProviderError::from_body(&body).message.chars().count(), 301);
    }
}
