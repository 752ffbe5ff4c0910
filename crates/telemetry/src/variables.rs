//! The standard `OTEL_*` variables, read through a lookup function: this module never reads the environment itself.
//!
//! Telemetry stays off unless an endpoint or an exporter is set. An invalid value is a fault that names the variable;
//! header values are never repeated in it, since they are usually keys.

use std::str::FromStr;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::redact::SecretValues;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use crate::settings::{
    CollectorSettings, DEFAULT_METRIC_INTERVAL, DEFAULT_SERVICE_NAME, DEFAULT_TIMEOUT, Header, Protocol,
    Proxy, Sampler, Signal, TelemetrySettings,
};

const PROTOCOLS: [(&str, Protocol); 3] =
    [("grpc", Protocol::Grpc), ("http/protobuf", Protocol::HttpProtobuf), ("http/json", Protocol::HttpJson)];

const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Content can go to spans or to events; we send no such events.
const CONTENT: [(&str, bool); 6] = [
    ("true", true),
    ("false", false),
    ("span_only", true),
    ("span_and_event", true),
    ("event_only", false),
    ("no_content", false),
];

impl TelemetrySettings {
    /// Reads the variables. An empty one counts as unset.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let variables = OtelVariables(&lookup);
        if variables.choice("OTEL_SDK_DISABLED", &FLAGS)?.unwrap_or(false) {
            return Ok(Self::default());
        }
        let traces = variables.collector(Signal::Traces)?;
        let metrics = variables.collector(Signal::Metrics)?;
        if traces.is_none() && metrics.is_none() {
            return Ok(Self::default());
        }
        let mut resource = variables.pairs("OTEL_RESOURCE_ATTRIBUTES")?;
        let position = resource.iter().rposition(|(key, _)| key == "service.name");
        let named = position.map(|position| resource.remove(position).1);
        Ok(Self {
            traces,
            metrics,
            metric_interval: variables
                .milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?
                .unwrap_or(DEFAULT_METRIC_INTERVAL),
            sampler: variables.sampler()?,
            service_name: variables
                .get("OTEL_SERVICE_NAME")
                .or(named)
                .unwrap_or_else(|| DEFAULT_SERVICE_NAME.to_owned()),
            resource,
            capture_content: variables
                .choice("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", &CONTENT)?
                .unwrap_or(false),
            secrets: SecretValues::default(),
        })
    }
}

struct OtelVariables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl OtelVariables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// `None` if the signal is off.
    fn collector(&self, signal: Signal) -> Result<Option<CollectorSettings>, Fault> {
        let exporter = format!("OTEL_{}_EXPORTER", signal.name().to_uppercase());
        let exported = self.choice(&exporter, &[("otlp", true), ("none", false)])?;
        let (endpoint_name, endpoint) = self.for_signal(signal, "ENDPOINT");
        if exported == Some(false) || (exported.is_none() && endpoint.is_none()) {
            return Ok(None);
        }
        let (protocol_name, _) = self.for_signal(signal, "PROTOCOL");
        let protocol = self.choice(&protocol_name, &PROTOCOLS)?.unwrap_or(Protocol::HttpProtobuf);
        let endpoint = endpoint.unwrap_or_else(|| protocol.default_endpoint().to_owned());
        let url = parse_endpoint(&endpoint_name, &endpoint)?;
        let mut collector = CollectorSettings::at(&url, protocol, signal);
        // The endpoint of one signal is used as it is, except with gRPC, where the path is the method.
        if protocol != Protocol::Grpc && endpoint_name == signal_variable(signal, "ENDPOINT") {
            collector.endpoint = url;
        }
        let (headers_name, _) = self.for_signal(signal, "HEADERS");
        collector.headers = self.headers(&headers_name)?;
        let (timeout_name, _) = self.for_signal(signal, "TIMEOUT");
        collector.timeout = self.milliseconds(&timeout_name)?.unwrap_or(DEFAULT_TIMEOUT);
        collector.proxy = self.proxy(&collector.endpoint);
        Ok(Some(collector))
    }

    /// The variable that applies to this signal, and its value: the signal's own variable takes precedence.
    fn for_signal(&self, signal: Signal, what: &str) -> (String, Option<String>) {
        let own = signal_variable(signal, what);
        match self.get(&own) {
            Some(value) => (own, Some(value)),
            None => {
                let general = format!("OTEL_EXPORTER_OTLP_{what}");
                let value = self.get(&general);
                (general, value)
            }
        }
    }

    fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Fault> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(&value));
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        let hint = format!("Use one of: {}.", words.join(", "));
        found
            .map(|(_, meaning)| Some(*meaning))
            .ok_or_else(|| invalid(name, &value, "is not supported").hint(hint))
    }

    fn milliseconds(&self, name: &str) -> Result<Option<Duration>, Fault> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.parse() {
            Ok(0) | Err(_) => {
                Err(invalid(name, &value, "is not a number of milliseconds")
                    .hint("Use a whole number above 0."))
            }
            Ok(count) => Ok(Some(Duration::from_millis(count))),
        }
    }

    fn sampler(&self) -> Result<Sampler, Fault> {
        #[derive(Clone, Copy)]
        enum SamplerKind {
            On,
            Off,
            Ratio,
        }
        // A run has no parent span, so the parent-based samplers behave like the plain ones.
        let kinds = [
            ("always_on", SamplerKind::On),
            ("always_off", SamplerKind::Off),
            ("traceidratio", SamplerKind::Ratio),
            ("parentbased_always_on", SamplerKind::On),
            ("parentbased_always_off", SamplerKind::Off),
            ("parentbased_traceidratio", SamplerKind::Ratio),
        ];
        Ok(match self.choice("OTEL_TRACES_SAMPLER", &kinds)? {
            None | Some(SamplerKind::On) => Sampler::AlwaysOn,
            Some(SamplerKind::Off) => Sampler::AlwaysOff,
            Some(SamplerKind::Ratio) => Sampler::Ratio(self.ratio("OTEL_TRACES_SAMPLER_ARG")?),
        })
    }

    fn ratio(&self, name: &str) -> Result<f64, Fault> {
        let Some(value) = self.get(name) else { return Ok(1.0) };
        let ratio = value.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| invalid(name, &value, "is not a ratio").hint("Use a number from 0 to 1."))
    }

    /// `key=value,key=value`, with `%XX` in the values.
    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, Fault> {
        let Some(text) = self.get(name) else { return Ok(Vec::new()) };
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let read = |item: &str| {
            let (key, value) = item.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            let key = Some(key.trim()).filter(|key| !key.is_empty())?;
            Some((key.to_owned(), value.into_owned()))
        };
        let pairs: Option<Vec<_>> = items.map(read).collect();
        pairs.ok_or_else(|| {
            fault(format!("{name} is not a comma-separated list of `name=value` pairs."))
                .hint("Write %2C for a comma and %3D for an equals sign in a value.")
        })
    }

    fn headers(&self, name: &str) -> Result<Vec<Header>, Fault> {
        let pairs = self.pairs(name)?;
        for (key, value) in &pairs {
            if HeaderName::from_str(key).is_err() || HeaderValue::from_str(value).is_err() {
                let message =
                    format!("{name} contains the header `{key}`, which is not a valid HTTP header.");
                return Err(fault(message).hint("Write `name=value`, with %XX for special characters."));
            }
        }
        Ok(pairs.into_iter().map(|(name, value)| Header { name, value }).collect())
    }

    /// The proxy for an endpoint, from the usual proxy variables.
    fn proxy(&self, endpoint: &Url) -> Option<Proxy> {
        let names = match endpoint.scheme() {
            "https" => ["HTTPS_PROXY", "https_proxy"],
            _ => ["HTTP_PROXY", "http_proxy"],
        };
        let url = names.into_iter().find_map(|name| self.get(name))?;
        let direct = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| self.get(name)).unwrap_or_default();
        Some(Proxy { url, direct })
    }
}

fn signal_variable(signal: Signal, what: &str) -> String {
    format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.name().to_uppercase())
}

fn parse_endpoint(name: &str, text: &str) -> Result<Url, Fault> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        invalid(name, text, "is not an HTTP URL")
            .hint("Write it like http://localhost:4318 or https://collector.example.")
    })
}

fn invalid(name: &str, value: &str, why: &str) -> Fault {
    fault(format!("{name} is `{value}`, which {why}."))
}

fn fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "telemetry", message)
}
