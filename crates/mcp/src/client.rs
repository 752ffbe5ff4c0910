//! The client side of the protocol: our capabilities, and the handlers for requests and notifications from a server.
//!
//! A server that asks for the roots gets the project directory. A session is unattended: a form whose required fields all
//! have defaults is answered with these, any other is declined. Sampling is not supported.
// Roots are deprecated in the protocol, but servers still ask for them.
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

/// The number of progress reports that may be queued; beyond that the oldest are lost.
const QUEUED_REPORTS: usize = 64;

/// Handles the requests and notifications of one server.
#[derive(Debug, Clone)]
pub(crate) struct McpClient {
    root: String,
    /// Notified when the server's list of tools has changed.
    pub(crate) stale: Arc<Notify>,
    /// Progress reports of all calls to this server.
    pub(crate) progress: broadcast::Sender<ProgressNotificationParam>,
}

impl McpClient {
    /// `root` is the URL of the project directory.
    pub(crate) fn new(root: String) -> Self {
        Self { root, stale: Arc::default(), progress: broadcast::Sender::new(QUEUED_REPORTS) }
    }
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let implementation = Implementation::new("autonoe", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
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
        // An error means that no call is listening.
        let _ = self.progress.send(report);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.notify_one();
    }
}

/// The defaults of a form, if they cover all required fields. A form without fields (a bare confirmation) has none.
fn defaults(schema: &Value) -> Option<Map<String, Value>> {
    let properties = schema.get("properties")?.as_object()?;
    let defaults = properties
        .iter()
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
    let defaults: Map<String, Value> = defaults.collect();
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_enough = required.all(|name| name.as_str().is_some_and(|name| defaults.contains_key(name)));
    (is_enough && !defaults.is_empty()).then_some(defaults)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::defaults;

    #[test]
    fn a_form_is_answered_only_with_its_own_defaults() {
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
        assert_eq!(defaults(&json!({"properties": {}})), None, "a bare confirmation");
    }
}
