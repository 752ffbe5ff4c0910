//! Webhooks: services outside that are told when an agent calls for help; only those that the user has allowed.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_core::fault::Fault;
use autonoe_sandbox::{HostPattern, UpstreamProxy};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};

use super::signature::Signer;
use crate::address::Address;
use crate::faults;
use crate::host_effects::Notice;

const DELIVERY: &str = "X-Autonoe-Delivery";
const TIMESTAMP: &str = "X-Autonoe-Timestamp";
const SIGNATURE: &str = "X-Autonoe-Signature";

/// Refusals that may be others the next time, below 500.
const PASSING: [StatusCode; 3] =
    [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];

/// Who may be called for help, and how.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// The hosts that the user has allowed.
    pub hosts: Vec<HostPattern>,
    /// Who signs the messages, if the user wants that.
    pub signer: Option<Signer>,
    /// The proxy between us and the internet. This machine itself is reached without it.
    pub proxy: Option<UpstreamProxy>,
    /// How long is waited.
    pub patience: Patience,
}

/// How long is waited for a service, and how often it is tried.
#[derive(Debug, Clone)]
pub struct Patience {
    /// How long one try may take.
    pub time_limit: Duration,
    /// How long is waited after a try that failed; when there is no further pause there is no further try.
    pub pauses: Vec<Duration>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(10),
            pauses: vec![Duration::from_secs(1), Duration::from_secs(2)],
        }
    }
}

/// Whether the user has allowed this address.
pub fn check_allowed(url: &str, hosts: &[HostPattern]) -> Result<(), Fault> {
    allowed(url, hosts).map(drop)
}

fn allowed(url: &str, hosts: &[HostPattern]) -> Result<Address, Fault> {
    let address = Address::read(url).map_err(|what| {
        faults::CONFIGURATION_VALIDATION
            .fault(format!("The address of a webhook cannot be used: {what}."))
            .hint("Write it as https://HOST/PATH under `escalateTo` in steps.json.")
    })?;
    if hosts.iter().any(|host| host.names(&address.authority)) {
        return Ok(address);
    }
    let shown = address.shown();
    Err(faults::DEPENDENCY_RESOLUTION
        .fault(format!("The agent wants to notify {shown}, which you have not allowed."))
        .hint(format!("Add `[webhooks] hosts = [\"{shown}\"]` to your config.toml if you trust it.")))
}

/// Why a try has failed.
struct Failure {
    reason: String,
    /// Whether another try may help.
    may_pass: bool,
}

impl Webhooks {
    /// Tells a service. Each try is the same delivery.
    pub(super) async fn notify(&self, notice: &Notice) -> Result<(), Fault> {
        let address = allowed(&notice.url, &self.hosts)?;
        let not_notified = |tries: usize, reason: &str| {
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            let message =
                format!("{} was not notified, having been tried {times}: {reason}.", address.shown());
            faults::NOT_NOTIFIED
                .fault(message)
                .hint("See whether the service is up and the address in steps.json is right.")
        };
        let client = self.client(&address).map_err(|error| not_notified(0, &innermost(&error)))?;
        let body = notice.body.to_string().into_bytes();
        let delivery = format!("{:032x}", fastrand::u128(..));
        let mut pauses = self.patience.pauses.iter();
        let mut tries = 0;
        loop {
            tries += 1;
            let Err(failure) = self.send(&client, &address, &delivery, &body).await else {
                return Ok(());
            };
            match pauses.next() {
                Some(pause) if failure.may_pass => tokio::time::sleep(*pause).await,
                Some(_) | None => return Err(not_notified(tries, &failure.reason)),
            }
        }
    }

    /// A client that follows no redirection and reads no environment.
    fn client(&self, address: &Address) -> reqwest::Result<Client> {
        let mut builder = autonoe_tls::client()
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .timeout(self.patience.time_limit)
            .user_agent(concat!("autonoe/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = self.proxy.as_ref().filter(|_| !address.is_here) {
            builder = builder.proxy(proxy.for_client()?);
        }
        builder.build()
    }

    async fn send(
        &self,
        client: &Client,
        address: &Address,
        delivery: &str,
        body: &[u8],
    ) -> Result<(), Failure> {
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
        // What it answers beside its status is not read.
        match request.body(body.to_vec()).send().await {
            Ok(answer) => judge(answer.status()),
            Err(error) if error.is_timeout() => {
                let limit = self.patience.time_limit.as_secs_f64();
                Err(Failure { reason: format!("it gave no answer within {limit} s"), may_pass: true })
            }
            Err(error) => Err(Failure { reason: innermost(&error.without_url()), may_pass: true }),
        }
    }
}

fn judge(status: StatusCode) -> Result<(), Failure> {
    if status.is_success() {
        return Ok(());
    }
    let more = if status.is_redirection() { ", and no redirection is followed" } else { "" };
    let may_pass = status.is_server_error() || PASSING.contains(&status);
    Err(Failure { reason: format!("it answered {status}{more}"), may_pass })
}

/// The innermost cause, which is what a person would say.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
