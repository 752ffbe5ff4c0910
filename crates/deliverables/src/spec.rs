//! Descriptions of the tools for the model, per phase.

use autonoe_core::instruction::{DeliverableTool, Phase};
use autonoe_tools::ToolSpec;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::arguments::{CreateArgs, DeliverableArgs, ListArgs, ReviewArgs, SetStatusArgs};

/// Describes a tool as offered in `phase`, under its short name.
pub fn spec(tool: DeliverableTool, phase: Phase) -> ToolSpec {
    let (description, mut input_schema) = match tool {
        DeliverableTool::Create => (
            "Creates deliverables, all of them or none. The only way to add to the project's list of deliverables.",
            schema::<CreateArgs>(),
        ),
        DeliverableTool::SetStatus => (
            "Sets the status of one deliverable. Set `passed` only with evidence for every acceptance criterion.",
            schema::<SetStatusArgs>(),
        ),
        DeliverableTool::Deprecate => (
            "Marks a deliverable as no longer part of the specification. Its record is kept but no longer counts.",
            schema::<DeliverableArgs>(),
        ),
        DeliverableTool::Verify => (
            "Records that you have checked one deliverable against the code, whatever the result was.",
            schema::<DeliverableArgs>(),
        ),
        DeliverableTool::Review => {
            ("Records your review of one deliverable that another agent has built.", schema::<ReviewArgs>())
        }
        DeliverableTool::List => (
            "Lists deliverables in order of priority, with their acceptance criteria and the total number.",
            schema::<ListArgs>(),
        ),
    };
    if tool == DeliverableTool::List && phase != Phase::Verify {
        remove_verified_filter(&mut input_schema);
    }
    ToolSpec {
        name: tool.name().to_owned(),
        description: description.to_owned(),
        input_schema,
        read_only: tool == DeliverableTool::List,
    }
}

/// JSON Schema draft 7 without references, which every client understands.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// `filter.verified` exists in the verify phase only.
fn remove_verified_filter(schema: &mut Value) {
    if let Some(filter) = schema.pointer_mut("/properties/filter/properties").and_then(Value::as_object_mut) {
        filter.remove("verified");
    }
}
