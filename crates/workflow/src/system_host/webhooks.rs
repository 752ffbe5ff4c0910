//! Webhooks: external services that are notified when an agent escalates. Only hosts that the user allowed are contacted.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_core::fault::Fault;
use autonoe_sandbox::{HostPattern, UpstreamProxy};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};

use super::signature::Signer;
use crate::faults;
use crate::host_effects::WebhookMessage;
use crate::webhook_address::WebhookAddress;

const DELIVERY: &str = "X-Autonoe-Delivery";
const TIMESTAMP: &str = "X-Autonoe-Timestamp";
const SIGNATURE: &str = "X-Autonoe-Signature";

/// Status codes below 500 that are worth a retry.
const RETRYABLE: [StatusCode; 3] =
    [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];

#[derive(Debug, Clone)]
pub struct Webhooks {
    /// The hosts that the user allowed.
    pub hosts: Vec<HostPattern>,
    /// `None` sends messages without a signature.
    pub signer: Option<Signer>,
    /// The proxy for hosts other than this machine.
    pub proxy: Option<UpstreamProxy>,
    pub timing: WebhookTiming,
}

/// The timeout and the retries of a delivery.
#[derive(Debug, Clone)]
pub struct WebhookTiming {
    /// The timeout of one attempt.
    pub time_limit: Duration,
    /// The pause before each retry; their number is the number of retries.
    pub pauses: Vec<Duration>,
}

impl Default for WebhookTiming {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(10),
            pauses: vec![Duration::from_secs(1), Duration::from_secs(2)],
        }
    }
}

/// Fails unless the user allowed this address.
pub fn check_allowed(url: &str, hosts: &[HostPattern]) -> Result<(), Fault> {
    allowed(url, hosts).map(drop)
}

fn allowed(url: &str, hosts: &[HostPattern]) -> Result<WebhookAddress, Fault> {
    let address = WebhookAddress::parse(url).map_err(|problem| {
        faults::CONFIGURATION_VALIDATION
            .fault(format!("The address of a webhook is invalid: {problem}."))
            .hint("Write it as https://HOST/PATH under `escalateTo` in steps.json.")
    })?;
    if hosts.iter().any(|host| host.matches(&address.authority)) {
        return Ok(address);
    }
    let host = address.display_host();
    Err(faults::DEPENDENCY_RESOLUTION
        .fault(format!("The agent notifies {host}, which you have not allowed."))
        .hint(format!("Add `[webhooks] hosts = [\"{host}\"]` to your config.toml if you trust it.")))
}

struct DeliveryFailure {
    reason: String,
    /// Whether a retry can help.
    is_transient: bool,
}

impl Webhooks {
    /// Notifies a service. All attempts have the same delivery id.
    pub(super) async fn notify(&self, message: &WebhookMessage) -> Result<(), Fault> {
        let address = allowed(&message.url, &self.hosts)?;
        let not_notified = |tries: usize, reason: &str| {
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            let message = format!("{} was not notified (tried {times}): {reason}.", address.display_host());
            faults::NOT_NOTIFIED
                .fault(message)
                .hint("Check that the service is up and that the address in steps.json is correct.")
        };
        let client = self.client(&address).map_err(|error| not_notified(0, &innermost(&error)))?;
        let body = message.body.to_string().into_bytes();
        let delivery = format!("{:032x}", fastrand::u128(..));
        let mut pauses = self.timing.pauses.iter();
        let mut tries = 0;
        loop {
            tries += 1;
            let Err(failure) = self.send(&client, &address, &delivery, &body).await else {
                return Ok(());
            };
            match pauses.next() {
                Some(pause) if failure.is_transient => tokio::time::sleep(*pause).await,
                Some(_) | None => return Err(not_notified(tries, &failure.reason)),
            }
        }
    }

    /// A client that follows no redirects and reads no environment.
    fn client(&self, address: &WebhookAddress) -> reqwest::Result<Client> {
        let mut builder = autonoe_tls::client()
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .timeout(self.timing.time_limit)
            .user_agent(concat!("autonoe/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = self.proxy.as_ref().filter(|_| !address.is_local) {
            builder = builder.proxy(proxy.for_client()?);
        }
        builder.build()
    }

    async fn send(
        &self,
        client: &Client,
        address: &WebhookAddress,
        delivery: &str,
        body: &[u8],
    ) -> Result<(), DeliveryFailure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = now.as_secs().to_string();
        let mut request = client
            .post(address.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(DELIVERY, delivery)
            .header(TIMESTAMP, &timestamp);
        if let Some(signer) = &self.signer {
            request = request.header(SIGNATURE, signer.sign(&timestamp, body));
        }
        // The body of the response is not read.
        match request.body(body.to_vec()).send().await {
            Ok(response) => check_status(response.status()),
            Err(error) if error.is_timeout() => {
                let limit = self.timing.time_limit.as_secs_f64();
                Err(DeliveryFailure { reason: format!("no answer within {limit} s"), is_transient: true })
            }
            Err(error) => {
                Err(DeliveryFailure { reason: innermost(&error.without_url()), is_transient: true })
            }
        }
    }
}

fn check_status(status: StatusCode) -> Result<(), DeliveryFailure> {
    if status.is_success() {
        return Ok(());
    }
    let more = if status.is_redirection() { ", and redirects are not followed" } else { "" };
    let is_transient = status.is_server_error() || RETRYABLE.contains(&status);
    Err(DeliveryFailure { reason: format!("it answered {status}{more}"), is_transient })
}

/// The innermost error of the chain, which names the cause.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
