//! The customary variables `OTEL_*`, read through a function that is given: nothing here looks at the environment.
//!
//! Telemetry stays off unless an address or an exporter is named. A value that cannot be understood is a fault that
//! names the variable; values of headers are never repeated, since they are keys more often than not.

use std::str::FromStr;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use crate::settings::{
    Collector, DEFAULT_METRIC_INTERVAL, DEFAULT_SERVICE_NAME, DEFAULT_TIMEOUT, Header, Protocol, Proxy,
    Sampler, Signal, TelemetrySettings,
};

const PROTOCOLS: [(&str, Protocol); 3] =
    [("grpc", Protocol::Grpc), ("http/protobuf", Protocol::HttpProtobuf), ("http/json", Protocol::HttpJson)];

const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Content can go to spans or to events; we have no such events.
const CONTENT: [(&str, bool); 6] = [
    ("true", true),
    ("false", false),
    ("span_only", true),
    ("span_and_event", true),
    ("event_only", false),
    ("no_content", false),
];

impl TelemetrySettings {
    /// Reads the variables. An empty one counts as not set.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let variables = Variables(&lookup);
        if variables.choice("OTEL_SDK_DISABLED", &FLAGS)?.unwrap_or(false) {
            return Ok(Self::default());
        }
        let traces = variables.collector(Signal::Traces)?;
        let metrics = variables.collector(Signal::Metrics)?;
        if traces.is_none() && metrics.is_none() {
            return Ok(Self::default());
        }
        let mut resource = variables.pairs("OTEL_RESOURCE_ATTRIBUTES")?;
        let named = resource.iter().rposition(|(key, _)| key == "service.name");
        let named = named.map(|place| resource.remove(place).1);
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
            secrets: Vec::new(),
        })
    }
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The collector of a signal; none when the signal is off.
    fn collector(&self, signal: Signal) -> Result<Option<Collector>, Fault> {
        let exporter = format!("OTEL_{}_EXPORTER", signal.name().to_uppercase());
        let exported = self.choice(&exporter, &[("otlp", true), ("none", false)])?;
        let (endpoint_name, endpoint) = self.of_signal(signal, "ENDPOINT");
        if exported == Some(false) || (exported.is_none() && endpoint.is_none()) {
            return Ok(None);
        }
        let (protocol_name, _) = self.of_signal(signal, "PROTOCOL");
        let protocol = self.choice(&protocol_name, &PROTOCOLS)?.unwrap_or(Protocol::HttpProtobuf);
        let address = endpoint.unwrap_or_else(|| protocol.usual_address().to_owned());
        let url = read_address(&endpoint_name, &address)?;
        let mut collector = Collector::at(&url, protocol, signal);
        // An address for one signal is the whole address, except with gRPC, where paths are methods.
        if protocol != Protocol::Grpc && endpoint_name == own_name(signal, "ENDPOINT") {
            collector.endpoint = url;
        }
        let (headers_name, _) = self.of_signal(signal, "HEADERS");
        collector.headers = self.headers(&headers_name)?;
        let (timeout_name, _) = self.of_signal(signal, "TIMEOUT");
        collector.timeout = self.milliseconds(&timeout_name)?.unwrap_or(DEFAULT_TIMEOUT);
        collector.proxy = self.proxy(&collector.endpoint);
        Ok(Some(collector))
    }

    /// The variable that decides for this signal, and its value: its own one before the general one.
    fn of_signal(&self, signal: Signal, what: &str) -> (String, Option<String>) {
        let own = own_name(signal, what);
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
            .ok_or_else(|| wrong(name, &value, "is not known here").hint(hint))
    }

    fn milliseconds(&self, name: &str) -> Result<Option<Duration>, Fault> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.parse() {
            Ok(0) | Err(_) => {
                Err(wrong(name, &value, "is not a number of milliseconds")
                    .hint("Use a whole number above 0."))
            }
            Ok(count) => Ok(Some(Duration::from_millis(count))),
        }
    }

    fn sampler(&self) -> Result<Sampler, Fault> {
        #[derive(Clone, Copy)]
        enum Kind {
            On,
            Off,
            Ratio,
        }
        // A run has no parent, so it makes no difference whether the parent would be asked.
        let kinds = [
            ("always_on", Kind::On),
            ("always_off", Kind::Off),
            ("traceidratio", Kind::Ratio),
            ("parentbased_always_on", Kind::On),
            ("parentbased_always_off", Kind::Off),
            ("parentbased_traceidratio", Kind::Ratio),
        ];
        Ok(match self.choice("OTEL_TRACES_SAMPLER", &kinds)? {
            None | Some(Kind::On) => Sampler::AlwaysOn,
            Some(Kind::Off) => Sampler::AlwaysOff,
            Some(Kind::Ratio) => Sampler::Ratio(self.ratio("OTEL_TRACES_SAMPLER_ARG")?),
        })
    }

    fn ratio(&self, name: &str) -> Result<f64, Fault> {
        let Some(value) = self.get(name) else { return Ok(1.0) };
        let ratio = value.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| wrong(name, &value, "is not part of a whole").hint("Use a number from 0 to 1."))
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
            fault(format!("{name} is not a list of `name=value`, parted by commas."))
                .hint("Write %2C for a comma and %3D for an equals sign in a value.")
        })
    }

    fn headers(&self, name: &str) -> Result<Vec<Header>, Fault> {
        let pairs = self.pairs(name)?;
        for (key, value) in &pairs {
            if HeaderName::from_str(key).is_err() || HeaderValue::from_str(value).is_err() {
                let message = format!("{name} has the header `{key}`, which cannot be sent.");
                return Err(fault(message).hint("Write `name=value`, with %XX for anything unusual."));
            }
        }
        Ok(pairs.into_iter().map(|(name, value)| Header { name, value }).collect())
    }

    /// The proxy for an address, by the customary variables.
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

fn own_name(signal: Signal, what: &str) -> String {
    format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.name().to_uppercase())
}

fn read_address(name: &str, text: &str) -> Result<Url, Fault> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        wrong(name, text, "is not an address")
            .hint("Write it like http://localhost:4318 or https://collector.example.")
    })
}

fn wrong(name: &str, value: &str, why: &str) -> Fault {
    fault(format!("{name} is `{value}`, which {why}."))
}

fn fault(message: String) -> Fault {
    Fault::lasting(Layer::Config, "telemetry", message)
}
