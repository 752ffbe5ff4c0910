//! Resolves `[notify]` of the user's config.toml: looks programs up, reads variables, runs the commands that print secrets, and checks
//! addresses. A repository cannot configure any of it.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_notify::{
    Channel, DEFAULT_TIME_LIMIT, NotifyTarget, Programs, Signer, WebhookOptions, find_program_outside,
};
use autonoe_sandbox::UpstreamProxy;
use autonoe_store::UserConfig;
use autonoe_store::user_config::{ChannelConfig, NotifyTargetConfig, ValueSource};

use crate::environment::Environment;
use crate::key_command::KeyCommand;

/// Where sendmail is on systems that do not have it on the search path of users.
const SENDMAIL_DIRECTORIES: [&str; 3] = ["/usr/sbin", "/usr/lib", "/sbin"];

/// Parts of addresses that are at least this long may be secret, and are redacted by themselves.
const MIN_SECRET_PATH: usize = 16;

/// Of the faults of this file.
const CODE: &str = "notify";

pub struct NotifySettings {
    pub targets: Vec<NotifyTarget>,
    /// How many denied tool calls of a run are many.
    pub denied_threshold: NonZeroU32,
    pub programs: Programs,
    /// Values to redact.
    pub secrets: Vec<String>,
}

impl NotifySettings {
    /// Programs inside `project` are not used.
    pub async fn resolve(
        user: &UserConfig,
        environment: &Environment,
        project: &Path,
    ) -> Result<Self, Fault> {
        let mut resolver = TargetResolver::new(environment, project);
        let mut targets = Vec::new();
        for (name, config) in &user.notify.targets {
            targets.push(resolver.resolve(name, config).await?);
        }
        let programs = programs(user, environment)?;
        let secrets = resolver.secrets;
        Ok(Self { targets, denied_threshold: user.notify.denied_threshold, programs, secrets })
    }

    /// Sentences about targets that cannot be notified.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.targets.iter().filter_map(|target| {
            let problem = target.channel.problem()?;
            Some(format!("the target '{}' cannot be notified: {problem}.", target.name))
        })
    }
}

pub fn programs(user: &UserConfig, environment: &Environment) -> Result<Programs, Fault> {
    let channels = user.notify.targets.values().map(|target| &target.channel);
    let sources = channels.flat_map(|channel| match channel {
        ChannelConfig::Webhook { url, secret, token, .. } => {
            [Some(url), secret.as_ref(), token.as_ref()].into_iter().flatten().collect()
        }
        ChannelConfig::Desktop | ChannelConfig::Command { .. } | ChannelConfig::Email { .. } => Vec::new(),
    });
    let own = sources.filter_map(|source| match source {
        ValueSource::Variable(name) => Some(name),
        ValueSource::Literal(_) | ValueSource::Command(_) => None,
    });
    let keys = user.providers.values().filter_map(|provider| provider.key_variable.as_ref());
    let names = own.chain(keys).chain(&user.webhooks.secret_variable);
    let names: Vec<&str> = names.map(String::as_str).collect();
    Ok(Programs {
        own_executable: environment.own_executable()?,
        environment: environment.all_but(&names),
        directory: environment
            .home
            .clone()
            .filter(|home| home.is_dir())
            .unwrap_or_else(|| PathBuf::from("/")),
    })
}

/// Resolves targets one by one, so that `autonoe doctor` can name each that is wrong.
pub struct TargetResolver<'a> {
    environment: &'a Environment,
    proxy: Result<Option<UpstreamProxy>, String>,
    project: PathBuf,
    /// What was read so far.
    pub secrets: Vec<String>,
}

impl<'a> TargetResolver<'a> {
    pub fn new(environment: &'a Environment, project: &Path) -> Self {
        let upstream = environment.upstream.as_ref();
        let proxy = upstream.map(|(url, except)| UpstreamProxy::new(url, except)).transpose();
        Self {
            environment,
            proxy: proxy.map_err(|error| error.to_string()),
            project: project.to_owned(),
            secrets: Vec::new(),
        }
    }

    pub async fn resolve(&mut self, name: &str, config: &NotifyTargetConfig) -> Result<NotifyTarget, Fault> {
        let time_limit = config.time_limit.unwrap_or(DEFAULT_TIME_LIMIT);
        let find = |program: &str, further: &[&str]| {
            find_program_outside(program, &self.environment.path, further, &self.project)
        };
        let channel = match &config.channel {
            ChannelConfig::Desktop => Channel::Desktop { notify_send: find("notify-send", &[]) },
            ChannelConfig::Command { command } => {
                let (program, args) = command.split_first().unwrap_or((const { &String::new() }, &[]));
                Channel::Command { program: find(program, &[]), args: args.to_vec() }
            }
            ChannelConfig::Email { to, from, sendmail } => Channel::Email {
                sendmail: find(sendmail.as_deref().unwrap_or("sendmail"), &SENDMAIL_DIRECTORIES),
                to: to.clone(),
                from: from.clone(),
            },
            ChannelConfig::Webhook { shape, url, secret, token } => {
                let url = self.value(name, "address", url).await?;
                self.secrets.extend(secret_parts(&url));
                let secret = self.secret(name, "secret", secret.as_ref()).await?;
                let token = self.secret(name, "token", token.as_ref()).await?;
                let proxy = self.proxy.clone().map_err(|error| fault(name, &error))?;
                let signer = secret.map(|secret| Signer::new(&secret));
                let options = WebhookOptions { signer, token, proxy };
                Channel::webhook(*shape, &url, options, time_limit)
                    .map_err(|why| fault(name, &format!("its address is not valid: {why}")))?
            }
        };
        let (events, expire_after) = (config.events.clone(), config.expire_after);
        Ok(NotifyTarget { name: name.to_owned(), events, expire_after, time_limit, channel })
    }

    async fn secret(
        &mut self,
        target: &str,
        what: &str,
        source: Option<&ValueSource>,
    ) -> Result<Option<String>, Fault> {
        let Some(source) = source else { return Ok(None) };
        let value = self.value(target, what, source).await?;
        self.secrets.push(value.clone());
        Ok(Some(value))
    }

    async fn value(&self, target: &str, what: &str, source: &ValueSource) -> Result<String, Fault> {
        match source {
            ValueSource::Literal(value) => Ok(value.clone()),
            ValueSource::Variable(variable) => self.environment.variable(variable).ok_or_else(|| {
                fault(target, &format!("the variable {variable}, which should have its {what}, is not set"))
            }),
            ValueSource::Command(command) => {
                let key_command = KeyCommand {
                    value: &format!("the {what} of the target '{target}'"),
                    section: &format!("[notify.targets.{target}]"),
                    code: CODE,
                    command,
                };
                key_command.run(self.environment).await
            }
        }
    }
}

/// The address, and its path if that is long enough to be a secret.
fn secret_parts(url: &str) -> Vec<String> {
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
    let path = path.filter(|path| path.len() >= MIN_SECRET_PATH);
    [Some(url), path].into_iter().flatten().map(str::to_owned).collect()
}

fn fault(target: &str, why: &str) -> Fault {
    Fault::permanent(FaultLayer::Config, CODE, format!("The target '{target}' cannot be notified: {why}."))
        .hint(format!("Fix it, or remove [notify.targets.{target}] from your config.toml."))
}
