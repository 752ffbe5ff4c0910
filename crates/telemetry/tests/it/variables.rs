//! The standard variables, and the faults for invalid ones.

use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_telemetry::{Header, Protocol, Proxy, Sampler, TelemetrySettings};

const GENERAL: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

fn read(variables: &[(&str, &str)]) -> Result<TelemetrySettings, Fault> {
    TelemetrySettings::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

fn settings(variables: &[(&str, &str)]) -> TelemetrySettings {
    read(variables).expect("valid variables")
}

/// The endpoints of traces and metrics.
fn endpoints(variables: &[(&str, &str)]) -> [Option<String>; 2] {
    let settings = settings(variables);
    [settings.traces, settings.metrics].map(|collector| collector.map(|to| to.endpoint.to_string()))
}

fn to(traces: &str, metrics: &str) -> [Option<String>; 2] {
    [traces, metrics].map(|address| Some(address.to_owned()).filter(|address| !address.is_empty()))
}

#[test]
fn telemetry_is_off_unless_configured() {
    let off = TelemetrySettings::default();
    assert_eq!(settings(&[]), off);
    assert_eq!(settings(&[("OTEL_SERVICE_NAME", "x"), ("OTEL_TRACES_SAMPLER", "always_on")]), off);
    assert_eq!(settings(&[GENERAL, ("OTEL_SDK_DISABLED", "TRUE")]), off);
    assert_eq!(settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), off);
    let none = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none"), GENERAL];
    assert_eq!(settings(&none), off);
}

#[test]
fn endpoints_are_built_as_the_specification_says() {
    let both = to("http://collector:4318/v1/traces", "http://collector:4318/v1/metrics");
    assert_eq!(endpoints(&[GENERAL]), both);
    assert_eq!(endpoints(&[GENERAL, ("OTEL_METRICS_EXPORTER", "none")]), [both[0].clone(), None]);
    assert_eq!(
        endpoints(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c.example/otlp")]),
        to("https://c.example/otlp/v1/traces", "https://c.example/otlp/v1/metrics")
    );
    assert_eq!(
        endpoints(&[GENERAL, ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other/used/as/is")]),
        [Some("http://other/used/as/is".to_owned()), both[1].clone()]
    );
    assert_eq!(endpoints(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:1/x")]), to("", "http://m:1/x"));
    assert_eq!(endpoints(&[("OTEL_TRACES_EXPORTER", "otlp")]), to("http://localhost:4318/v1/traces", ""));
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert_eq!(
        endpoints(&[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_METRICS_EXPORTER", "otlp"), grpc]),
        to(
            "http://localhost:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            "http://localhost:4317/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
        )
    );
}

#[test]
fn a_variable_of_one_signal_overrides_the_general_one() {
    let settings = settings(&[
        GENERAL,
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2500"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20abc%3D, x-team = a"),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-team=b"),
    ]);
    let (traces, metrics) = (settings.traces.expect("on"), settings.metrics.expect("on"));
    assert_eq!((traces.protocol, metrics.protocol), (Protocol::HttpJson, Protocol::Grpc));
    let timeouts = (Duration::from_millis(2500), Duration::from_millis(1500));
    assert_eq!((traces.timeout, metrics.timeout), timeouts);
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    assert_eq!(traces.headers, [header("Authorization", "Basic abc="), header("x-team", "a")]);
    assert_eq!(metrics.headers, [header("x-team", "b")]);
    assert!(!format!("{traces:?}").contains("abc"), "values are not shown");
}

#[test]
fn the_remaining_variables_are_read() {
    let settings = settings(&[
        GENERAL,
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=night%2Cshift"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("HTTPS_PROXY", "http://another:3128"),
        ("no_proxy", "collector"),
    ]);
    assert_eq!(settings.service_name, "a");
    assert_eq!(settings.resource, [("team".to_owned(), "night,shift".to_owned())]);
    assert_eq!(settings.sampler, Sampler::Ratio(0.25));
    assert_eq!(settings.metric_interval, Duration::from_secs(5));
    assert!(settings.capture_content);
    let proxy = Proxy { url: "http://proxy:3128".into(), direct: "collector".into() };
    assert_eq!(settings.traces.expect("on").proxy, Some(proxy));

    let named = [GENERAL, ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a"), ("OTEL_SERVICE_NAME", "b")];
    assert_eq!(self::settings(&named).service_name, "b");
    assert_eq!(self::settings(&[GENERAL]).service_name, "autonoe");
    assert!(!self::settings(&[GENERAL]).capture_content);
}

#[test]
fn an_invalid_value_is_a_fault_that_names_the_variable() {
    let table = [
        ("OTEL_SDK_DISABLED", "maybe"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "unix:/x"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "thrift"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
        ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret-without-a-name"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "bad name=secret"),
        ("OTEL_RESOURCE_ATTRIBUTES", "=x"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_METRICS_EXPORTER", "console"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "-1"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "a bit"),
    ];
    for (name, value) in table {
        // `read` uses the first of two entries.
        let fault = read(&[(name, value), GENERAL]).expect_err(name);
        assert_eq!((fault.layer, fault.code.as_str()), (FaultLayer::Config, "telemetry"));
        assert!(fault.message.starts_with(name), "{}", fault.message);
        assert!(fault.hint.is_some(), "{name}");
        assert!(!fault.message.contains("secret"), "{}", fault.message);
    }
    for ratio in ["2", "-0.1", "NaN", "half"] {
        let sampled = [GENERAL, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", ratio)];
        let fault = read(&sampled).expect_err(ratio);
        assert!(fault.message.starts_with("OTEL_TRACES_SAMPLER_ARG"), "{}", fault.message);
    }
}
