//! Webhooks: external services that are notified when an agent escalates. Only hosts that the user allowed are contacted.

use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_notify::{Signer, Webhook, WebhookAddress, WebhookOptions};
use autonoe_sandbox::{HostPattern, UpstreamProxy};

use crate::faults;
use crate::host_effects::WebhookMessage;

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

impl Webhooks {
    /// Notifies a service. All attempts have the same delivery id.
    pub(super) async fn notify(&self, message: &WebhookMessage) -> Result<(), Fault> {
        let address = allowed(&message.url, &self.hosts)?;
        let host = address.display_host().to_owned();
        let not_notified = |tries: usize, reason: &str| {
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            let message = format!("{host} was not notified (tried {times}): {reason}.");
            faults::NOT_NOTIFIED
                .fault(message)
                .hint("Check that the service is up and that the address in steps.json is correct.")
        };
        let options = WebhookOptions { signer: self.signer.clone(), token: None, proxy: self.proxy.clone() };
        let webhook = Webhook::new(address, options, self.timing.time_limit)
            .map_err(|failure| not_notified(0, &failure.reason))?;
        let body = message.body.to_string().into_bytes();
        let delivery = format!("{:032x}", fastrand::u128(..));
        let mut pauses = self.timing.pauses.iter();
        let mut tries = 0;
        loop {
            tries += 1;
            let Err(failure) = webhook.post(&delivery, &body).await else {
                return Ok(());
            };
            match pauses.next() {
                Some(pause) if failure.is_transient => tokio::time::sleep(*pause).await,
                Some(_) | None => return Err(not_notified(tries, &failure.reason)),
            }
        }
    }
}
