//! Secrets: values that must never be written down, and how they are blotted out of JSON text.

/// Shorter values are too common to be blotted out.
const MIN_SECRET_BYTES: usize = 6;

/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";

/// Every form in which a secret may occur, the longest first, since one may contain another.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// In JSON a secret occurs escaped, and twice escaped where a string holds JSON itself.
    pub(super) fn new(values: &[String]) -> Self {
        let mut forms: Vec<String> = values
            .iter()
            .filter(|value| value.len() >= MIN_SECRET_BYTES)
            .flat_map(|value| [escaped(value), escaped(&escaped(value))])
            .collect();
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup();
        Self(forms)
    }

    /// The same JSON text without the secrets.
    pub(super) fn redact(&self, mut json: String) -> String {
        for secret in &self.0 {
            if json.contains(secret.as_str()) {
                json = json.replace(secret.as_str(), REDACTED);
            }
        }
        json
    }
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::Secrets;
    use serde_json::json;

    fn redacted(secrets: &[&str], text: &str) -> String {
        let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        Secrets::new(&secrets).redact(json!({ "text": text }).to_string())
    }

    #[test]
    fn every_occurrence_goes_and_the_rest_stays() {
        assert_eq!(
            redacted(&["sk-12345"], "a sk-12345 b sk-12345"),
            r#"{"text":"a [redacted] b [redacted]"}"#
        );
        assert_eq!(redacted(&[], "sk-12345"), r#"{"text":"sk-12345"}"#);
    }

    #[test]
    fn a_secret_that_json_escapes_goes_at_any_depth() {
        let secret = "pa\"ss\\wo\nrd\u{1}é";
        assert_eq!(redacted(&[secret], secret), r#"{"text":"[redacted]"}"#);
        let nested = json!({ "key": secret }).to_string();
        assert_eq!(redacted(&[secret], &nested), r#"{"text":"{\"key\":\"[redacted]\"}"}"#);
    }

    #[test]
    fn a_secret_that_contains_another_leaves_nothing_behind() {
        for order in [["sk-123", "sk-123-tail"], ["sk-123-tail", "sk-123"]] {
            assert_eq!(redacted(&order, "sk-123-tail"), r#"{"text":"[redacted]"}"#);
        }
    }

    #[test]
    fn short_values_are_too_common_to_be_secrets() {
        assert_eq!(redacted(&["", "12345"], "12345"), r#"{"text":"12345"}"#);
        assert_eq!(redacted(&["123456"], "123456"), r#"{"text":"[redacted]"}"#);
    }
}
