//! Recovery Strategy Interface.

use std::collections::BTreeSet;

use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;
use autonoe_harness::recovery::{
    AskPerson, BranchExplorer, LoopContext, ModelEscalator, Mutation, Nudge, PromptMutator, Recovery,
    RecoveryBudget, RecoveryResult, RecoveryState, RecoveryStrategy, Rung,
};

use super::{Contract, task};

pub const CONTRACTS: &[Contract] = &[
    ("success: bool", || {
        assert!(apply(&Nudge).success);
        assert!(!apply(&AskPerson).success);
    }),
    ("new_prompt: Optional[str] = None", || {
        assert!(apply(&PromptMutator { mutation: Mutation::Rephrase }).new_prompt.is_some());
        assert_eq!(apply(&AskPerson).new_prompt, None);
    }),
    ("escalated_to: Optional[tuple] = None  # (cli, model)", || {
        let Rung { backend, model } = apply(&ModelEscalator).escalated_to.unwrap();
        assert_eq!((backend.as_str(), model.as_deref()), ("claude", Some("best")));
    }),
    ("branch: Optional[\"ExplorationBranch\"] = None", || {
        assert_eq!(apply(&BranchExplorer).branch.unwrap().branches.len(), 3);
        assert_eq!(apply(&Nudge).branch, None);
    }),
    ("needs_human: bool = False", || {
        assert!(!apply(&Nudge).needs_human);
        assert!(apply(&AskPerson).needs_human);
    }),
    ("Implementations: PromptMutator, ModelEscalator, BranchExplorer", || {
        for strategy in strategies() {
            assert!(strategy.can_apply(&context()), "{}", strategy.name());
        }
    }),
    ("Name of this recovery strategy.", || {
        let names: BTreeSet<&str> = strategies().iter().map(|strategy| strategy.name()).collect();
        assert_eq!(names.len(), strategies().len());
    }),
    ("Return True if this strategy can be applied.", || {
        assert!(!BranchExplorer.can_apply(&LoopContext { can_branch: false, ..context() }));
        assert!(!ModelEscalator.can_apply(&LoopContext { ladder: Vec::new(), ..context() }));
        assert!(!Nudge.can_apply(&LoopContext { sessions_left: 0, ..context() }));
    }),
    ("RecoveryResult indicating success and what changed", || {
        for strategy in strategies() {
            let RecoveryResult { success, new_prompt, escalated_to, branch, needs_human, .. } =
                apply(&*strategy);
            assert_eq!(success, new_prompt.is_some() || escalated_to.is_some() || branch.is_some());
            assert_ne!(success, needs_human);
        }
        let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
        recovery.next(&task(""), context());
        recovery.observe(ProgressVerdict::Progressed, Usd::ZERO);
        assert_eq!(recovery.state().summary(), ["nudge: 1 session, worked"]);
    }),
    ("Apply recovery strategy.", || {
        let prompt = apply(&Nudge).new_prompt.unwrap();
        assert!(prompt.contains("## Goal\nAdd a cart") && prompt != context().prompt, "{prompt}");
    }),
];

fn context() -> LoopContext {
    let rung =
        |backend: &str, model: &str| Rung { backend: backend.to_owned(), model: Some(model.to_owned()) };
    LoopContext {
        prompt: "## Goal\nAdd a cart".to_owned(),
        current: rung("codex", "small"),
        ladder: vec![rung("codex", "small"), rung("claude", "best")],
        can_branch: true,
        sessions_left: 20,
        ..LoopContext::default()
    }
}

fn strategies() -> Vec<Box<dyn RecoveryStrategy>> {
    let mut all: Vec<Box<dyn RecoveryStrategy>> =
        vec![Box::new(Nudge), Box::new(ModelEscalator), Box::new(BranchExplorer), Box::new(AskPerson)];
    for mutation in Mutation::ALL {
        all.push(Box::new(PromptMutator { mutation }));
    }
    all
}

fn apply(strategy: &dyn RecoveryStrategy) -> RecoveryResult {
    strategy.apply(&task(""), &context())
}
