//! Our side of the protocol: who we are, what we can do for a server, and what we are told by one.
//!
//! A server may ask for the roots, and is told the project. Nobody sits in front of an unattended session: a question
//! whose answers all have defaults is answered with them, any other is declined, and models are not lent to servers.
// The protocol will drop roots one day; until then servers ask for them.
#![expect(deprecated)]

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Notify, broadcast};

/// How many reports of progress may wait to be passed on; beyond that the oldest are lost.
const WAITING_REPORTS: usize = 64;

/// What answers one server.
#[derive(Debug, Clone)]
pub(super) struct Client {
    root: String,
    /// Told when the server's list of tools is no longer what it was.
    pub(super) stale: Arc<Notify>,
    /// Reports of progress, of all calls to this server.
    pub(super) progress: broadcast::Sender<ProgressNotificationParam>,
}

impl Client {
    /// A client of a project at the address `root`.
    pub(super) fn new(root: String) -> Self {
        Self { root, stale: Arc::default(), progress: broadcast::Sender::new(WAITING_REPORTS) }
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let us = Implementation::new("autonoe", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let defaults = match request {
            ElicitRequestParams::FormElicitationParams { requested_schema, .. } => {
                serde_json::to_value(requested_schema).ok().as_ref().and_then(defaults)
            }
            _ => None,
        };
        Ok(match defaults {
            Some(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            None => ElicitResult::new(ElicitationAction::Decline),
        })
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        // Nobody may be listening.
        let _ = self.progress.send(report);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.notify_one();
    }
}

/// The defaults of a form, if they are all that it needs. A bare "go on?" has none.
fn defaults(schema: &Value) -> Option<Map<String, Value>> {
    let properties = schema.get("properties")?.as_object()?;
    let given = properties
        .iter()
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
    let given: Map<String, Value> = given.collect();
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_enough = required.all(|name| name.as_str().is_some_and(|name| given.contains_key(name)));
    (is_enough && !given.is_empty()).then_some(given)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::defaults;

    #[test]
    fn a_form_is_filled_in_only_with_its_own_defaults() {
        let name = json!({"type": "string", "default": "x"});
        let age = json!({"type": "integer"});
        let filled = json!({"name": "x"});
        let both = json!({"name": name, "age": age});
        assert_eq!(defaults(&json!({"properties": both})).map(Into::into), Some(filled.clone()));
        assert_eq!(
            defaults(&json!({"properties": both, "required": ["name"]})).map(Into::into),
            Some(filled)
        );
        assert_eq!(defaults(&json!({"properties": both, "required": ["age"]})), None);
        assert_eq!(defaults(&json!({"properties": {}})), None, "a bare question");
    }
}
