//! A backend on a sandbox layer: how it is found, started and spoken to in its own words.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::ScriptedServer;

use crate::support::{CliTestProject, RunOutput, always, has_bubblewrap};
use crate::vendors::TestVendor;
use crate::{acp, claude, codex, gemini};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixBackend {
    Native,
    Claude,
    Codex,
    Gemini,
    CodexAcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixLayer {
    Bubblewrap,
    Landlock,
    None,
}

const PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

pub struct Pair {
    pub backend: MatrixBackend,
    pub layer: MatrixLayer,
    /// `None` for the native agent.
    pub vendor: Option<TestVendor>,
}

impl Pair {
    /// `None`, with a notice, if the machine lacks the agent or the layer.
    pub fn find(backend: MatrixBackend, layer: MatrixLayer) -> Option<Self> {
        if layer == MatrixLayer::Bubblewrap && !has_bubblewrap() {
            eprintln!("SKIPPED: bubblewrap is not installed");
            return None;
        }
        let vendor = match backend {
            MatrixBackend::Native => None,
            MatrixBackend::Claude => Some(claude::claude()?),
            MatrixBackend::Codex => Some(codex::codex()?),
            MatrixBackend::Gemini => Some(gemini::gemini()?),
            MatrixBackend::CodexAcp => Some(acp::codex()?),
        };
        Some(Self { backend, layer, vendor })
    }

    pub fn name(&self) -> &'static str {
        match self.backend {
            MatrixBackend::Native => "native",
            MatrixBackend::Claude => "claude",
            MatrixBackend::Codex => "codex",
            MatrixBackend::Gemini => "gemini",
            MatrixBackend::CodexAcp => "mine",
        }
    }

    pub fn with_own_tool_names(&self, script: &str) -> String {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude => script.to_owned(),
            MatrixBackend::Gemini => gemini::with_own_tool_names(script)
                .replace("run_in_background = true", "is_background = true"),
            MatrixBackend::Codex | MatrixBackend::CodexAcp => with_codex_tool_names(script),
        }
    }

    /// A call that writes a file, in a script.
    pub fn write(&self, path: &str, content: &str) -> String {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::Gemini => {
                format!(r#"{{ tool = "Write", input = {{ file_path = "{path}", content = "{content}" }} }}"#)
            }
            MatrixBackend::Codex | MatrixBackend::CodexAcp => format!(
                r#"{{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n" }}"#
            ),
        }
    }

    /// A model whose usage limit is reached, as the service reports it to subscribers.
    pub fn out_of_quota(&self) -> String {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude => claude::QUOTA_EXHAUSTED.to_owned(),
            MatrixBackend::Codex | MatrixBackend::CodexAcp => codex::out_of_usage(),
            MatrixBackend::Gemini => always("[[conversation.turn]]\nfault = { kind = 'quota', times = 99 }"),
        }
    }

    /// Whether the message about a used-up quota says when it resets.
    pub fn knows_reset(&self) -> bool {
        match self.backend {
            MatrixBackend::Native
            | MatrixBackend::Claude
            | MatrixBackend::Codex
            | MatrixBackend::CodexAcp => true,
            MatrixBackend::Gemini => false,
        }
    }

    /// Whether it asks before it acts. Otherwise what is refused is cut off, however far it has got.
    pub fn asks_first(&self) -> bool {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::Codex | MatrixBackend::Gemini => {
                true
            }
            MatrixBackend::CodexAcp => false,
        }
    }

    /// `autonoe ARGS` with this backend on this layer.
    pub fn command(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> Command {
        let all = [args, &["--backend", self.name()]].concat();
        let mut command = match (&self.vendor, self.backend) {
            (None, _) => project.command(model, &all),
            (Some(gemini), MatrixBackend::Gemini) => gemini::command(gemini, project, model, args),
            (Some(codex), MatrixBackend::CodexAcp) => acp::command(codex, project, model, &all),
            (Some(vendor), _) => vendor.command(project, model, &all),
        };
        match self.layer {
            MatrixLayer::Bubblewrap => {}
            MatrixLayer::Landlock => {
                let own = self.vendor.iter().map(|vendor| vendor.offer(project));
                let path = std::env::join_paths(own.chain([without_bubblewrap(project)])).expect("a path");
                command.env("PATH", path);
            }
            MatrixLayer::None => {
                // Codex refuses to keep its sandbox helpers below the temporary directory, where this project is.
                let temporary = project.home().join("tmp");
                fs::create_dir_all(&temporary).expect("directory");
                command.arg("--no-sandbox").env("TMPDIR", temporary);
            }
        }
        command
    }

    pub fn run(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> RunOutput {
        RunOutput::from(self.command(project, model, args).output().expect("started"))
    }

    /// Whether this line, a process id and its command, is the agent's own process.
    pub fn is_agent(&self, line: &str) -> bool {
        match self.backend {
            MatrixBackend::Native => false,
            MatrixBackend::Claude => line.contains("--input-format"),
            MatrixBackend::Codex => line.ends_with("codex app-server "),
            MatrixBackend::Gemini => line.contains("--admin-policy") && line.contains("node"),
            MatrixBackend::CodexAcp => line.trim_end().ends_with("codex-acp"),
        }
    }

    /// Whether its events show single model calls, not only prompts.
    pub fn shows_model_calls(&self) -> bool {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::Codex => true,
            MatrixBackend::Gemini | MatrixBackend::CodexAcp => false,
        }
    }

    #[track_caller]
    pub fn assert_layer(&self, run: &RunOutput) {
        let (landlock, none) =
            (run.stderr.contains("uses Landlock"), run.stderr.contains("the sandbox is disabled"));
        let used = match (landlock, none) {
            (false, false) => MatrixLayer::Bubblewrap,
            (true, false) => MatrixLayer::Landlock,
            (_, true) => MatrixLayer::None,
        };
        assert_eq!(used, self.layer, "{}", run.stderr);
    }
}

/// With Codex's option to leave a command running.
pub fn with_codex_tool_names(script: &str) -> String {
    acp::with_own_tool_names(script).replace("run_in_background = true", "yield_time_ms = 250")
}

fn without_bubblewrap(project: &CliTestProject) -> PathBuf {
    let links = project.home().join("programs");
    if links.exists() {
        return links;
    }
    fs::create_dir_all(&links).expect("directory");
    let mut names = BTreeSet::from(["bwrap".into()]);
    for directory in PATH {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if names.insert(entry.file_name()) {
                symlink(entry.path(), links.join(entry.file_name())).expect("linked");
            }
        }
    }
    links
}
