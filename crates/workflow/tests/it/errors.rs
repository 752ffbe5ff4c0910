//! エラー階層: every class of the contracts has a layer, a code and whether a retry can help.

use std::collections::BTreeSet;

use autonoe_core::fault::FaultLayer;
use autonoe_workflow::faults::{ALL, ErrorClass};

const GUIDE: &str = include_str!("../../../../docs/declarative-agents.md");

/// エラー階層: `class AgentError { code: string; recoverable: boolean }`, `Layer別エラー`
#[test]
fn the_table_in_the_documentation_is_the_table_of_the_code() {
    for class in ALL {
        let fault = class.fault("It failed.");
        assert_eq!((fault.layer, fault.code.as_str()), (class.layer, class.code));
        let recoverable = if fault.recoverable() { "yes" } else { "no" };
        let row = format!(
            "| `{}` | {} | `{}` | {recoverable} | {} |",
            class.name,
            class.layer.name(),
            class.code,
            class.when
        );
        assert!(GUIDE.contains(&row), "docs/declarative-agents.md lacks this row:\n{row}");
    }
}

#[test]
fn codes_and_names_are_unique() {
    let codes: BTreeSet<_> = ALL.iter().map(|class| class.code).collect();
    let names: BTreeSet<_> = ALL.iter().map(|class| class.name).collect();
    assert_eq!((codes.len(), names.len()), (ALL.len(), ALL.len()));
}

#[test]
fn every_class_of_the_contracts_is_there_with_its_layer() {
    let of = |name: &str| -> ErrorClass {
        *ALL.iter().find(|class| class.name == name).unwrap_or_else(|| panic!("{name}"))
    };
    for (name, layer, recoverable) in [
        ("ConfigurationNotFoundError", FaultLayer::Config, false),
        ("ConfigurationParseError", FaultLayer::Config, false),
        ("ConfigurationValidationError", FaultLayer::Config, false),
        ("DependencyResolutionError", FaultLayer::Config, false),
        ("AlreadyStartedError", FaultLayer::Lifecycle, false),
        ("LoopError", FaultLayer::Loop, false),
        ("StepRetryExhaustedError", FaultLayer::Loop, false),
        ("SdkConnectionError", FaultLayer::Model, true),
        ("SdkRateLimitError", FaultLayer::Model, true),
        ("CompletionError", FaultLayer::Completion, false),
        ("PromptNotFoundError", FaultLayer::Prompt, false),
        ("PromptParseError", FaultLayer::Prompt, false),
    ] {
        let class = of(name);
        assert_eq!((class.layer, class.fault("x").recoverable()), (layer, recoverable), "{name}");
    }
}
