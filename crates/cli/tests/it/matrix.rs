//! One table of scene, backend and layer: what is promised of every agent is played with each of them.
//!
//! A new backend is a variant of `MatrixBackend` and one more row. Scenes that only one vendor has are in that vendor's file.

mod backend;
mod lifetime;
mod refusals;
mod scenes;
mod steering;

use backend::{MatrixBackend, MatrixLayer};
pub use backend::{Pair, with_codex_tool_names};
use lifetime::{crash, many_sessions, resume};
use refusals::{failover, false_claim, gates, quota, rejected_key, sync_changes_nothing, without_tools};
pub use scenes::LEAVES_COMMANDS;
use scenes::{
    background, interrupt, interrupted_call, kill, kill_in_workspace, main_job, main_job_in_workspace,
};

use steering::{told, told_at_the_end};

use super::hooks::{hook_denials, hooks_under_attack, mapped_hook_script};

macro_rules! cells {
    ($layer:ident, $variant:ident, $backend:ident, $($scene:ident)*) => {
        mod $layer {
            use crate::matrix::{MatrixBackend, MatrixLayer, Pair};
            $(#[test]
            fn $scene() {
                if let Some(pair) = Pair::find(MatrixBackend::$backend, MatrixLayer::$variant) {
                    crate::matrix::$scene(&pair);
                }
            })*
        }
    };
}

/// A row for each backend: what it plays on each layer beside the scenes that all play.
macro_rules! matrix {
    ($($module:ident = $backend:ident {
        bubblewrap: [$($bubblewrap:ident)*], landlock: [$($landlock:ident)*], none: [$($none:ident)*] $(,)?
    })*) => {
        $(mod $module {
            cells!(bubblewrap, Bubblewrap, $backend, main_job_in_workspace kill_in_workspace sync_changes_nothing interrupt background $($bubblewrap)*);
            cells!(landlock, Landlock, $backend, main_job_in_workspace kill_in_workspace sync_changes_nothing $($landlock)*);
            cells!(none, None, $backend, main_job $($none)*);
        })*
    };
}

matrix! {
    native = Native {
        bubblewrap: [main_job gates hook_denials hooks_under_attack false_claim quota failover resume many_sessions told told_at_the_end],
        landlock: [main_job interrupt background hook_denials hooks_under_attack mapped_hook_script resume interrupted_call told],
        none: [interrupt kill background hook_denials],
    }
    claude_code = Claude {
        bubblewrap: [
            gates hook_denials hooks_under_attack false_claim quota failover rejected_key crash resume
            many_sessions without_tools told told_at_the_end
        ],
        landlock: [interrupt background hook_denials resume interrupted_call],
        none: [interrupt kill background],
    }
    codex_app_server = Codex {
        bubblewrap: [
            gates hook_denials hooks_under_attack false_claim quota failover rejected_key crash resume
            many_sessions told told_at_the_end
        ],
        landlock: [interrupt background hook_denials resume interrupted_call without_tools],
        none: [interrupt kill background],
    }
    gemini_cli = Gemini {
        bubblewrap: [
            gates hook_denials hooks_under_attack false_claim quota failover rejected_key crash resume
            many_sessions told
        ],
        // It starts slowly: what does not depend on the layer is played on one.
        landlock: [interrupt interrupted_call resume without_tools],
        none: [kill],
    }
    codex_acp = CodexAcp {
        bubblewrap: [gates false_claim quota failover crash many_sessions resume],
        landlock: [background resume],
        none: [kill without_tools],
    }
}
