//! Files that act on the user's machine by themselves: programs read them without being asked to, and run what they name. They do
//! not land unless the user agrees.

/// Directories, anywhere in the repository.
const DIRECTORIES: [&str; 74] = [
    ".codesandbox",
    ".gitpod",
    ".idx",
    ".ona",
    ".tabnine",
    ".flox",
    ".joyride",
    ".lefthook-local",
    ".obsidian",
    ".venv",
    "_darcs",
    ".aider",
    ".amazonq",
    ".amp",
    ".asdf",
    ".augment",
    ".bsp",
    ".autonoe",
    ".bzr",
    ".claude",
    ".cline",
    ".clinerules",
    ".codeium",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".cursor",
    ".devcontainer",
    ".devin",
    ".direnv",
    ".factory",
    ".fleet",
    ".gemini",
    ".githooks",
    ".goose",
    ".helix",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".junie",
    ".kiro",
    ".mise",
    ".lefthook",
    ".nova",
    ".nvim",
    ".opencode",
    ".pi",
    ".pijul",
    ".qwen",
    ".roo",
    ".ropeproject",
    ".shadowenv.d",
    ".sl",
    ".svn",
    ".theia",
    ".trae",
    ".vim",
    ".vs",
    ".vscode",
    ".windsurf",
    ".zed",
    // Python runs what is compiled, not the source beside it.
    "__pycache__",
    ".agents",
    ".codebuddy",
    ".grok",
    ".iflow",
    ".kilocode",
    ".openhands",
    ".rovodev",
    ".superset",
    ".trunk",
    ".vibe",
];

/// Files, anywhere in the repository: of agents, editors, debuggers, interactive interpreters and shells. Those of nix act through direnv.
const FILES: [&str; 113] = [
    ".autoenv.leave",
    ".devfile.yaml",
    ".env.leave",
    ".gitpod.dockerfile",
    ".replit",
    ".stackblitzrc",
    "devfile.yaml",
    "replit.nix",
    "rusty-hook.toml",
    ".rvmrc",
    ".hie-bios",
    "activate-hermit",
    ".lite_project.lua",
    ".rusty-hook.toml",
    "hk.local.pkl",
    ".fslckout",
    ".neoconf.json",
    ".octaverc",
    ".project",
    ".rdata",
    "_fossil_",
    ".aider.conf.yml",
    ".autoenv",
    ".autoenv.zsh",
    ".autoenv_leave.zsh",
    ".byebugrc",
    ".continuerc.json",
    ".crush.json",
    ".cursorrules",
    ".devcontainer.json",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".env.zsh",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".ghci",
    ".gitmodules",
    ".gitpod.yml",
    ".goosehints",
    ".gvimrc",
    ".iex.exs",
    ".irbrc",
    ".lazy.lua",
    ".lfsconfig",
    ".lldbinit",
    ".luarc.json",
    ".luarc.jsonc",
    ".lvimrc",
    ".mcp.json",
    ".nvim.lua",
    ".nvimrc",
    ".ocamlinit",
    ".opencode.json",
    ".overcommit.yml",
    ".pdbrc",
    ".perldb",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pryrc",
    ".rdbgrc",
    ".renviron",
    ".roomodes",
    ".rprofile",
    ".rtx.toml",
    ".tmuxinator.yml",
    ".tool-versions",
    ".utoprc",
    ".vimrc",
    ".vimrc.local",
    ".windsurfrules",
    ".worktreeinclude",
    "buildserver.json",
    "captainhook.json",
    "crush.json",
    "default.nix",
    "devbox.json",
    "devenv.nix",
    "devenv.yaml",
    "flake.nix",
    "grumphp.yaml",
    "grumphp.yml",
    "hie.yaml",
    "hk.pkl",
    "mcp.json",
    "opencode.json",
    "opencode.jsonc",
    "prek.toml",
    // It makes a directory an environment of Python, which editors and shells activate.
    "pyvenv.cfg",
    "shell.nix",
    ".local.vimrc",
    ".merlin",
    ".prototools",
    ".ycm_extra_conf.py",
    "pkgx.yaml",
    "pkgx.yml",
    // Every Python loads them that finds them, as through an editable installation.
    "sitecustomize.py",
    "usercustomize.py",
    ".prek.toml",
    "conductor.json",
    // Erlang, MATLAB and Octave run those of the directory in which they start.
    ".erlang",
    "startup.m",
    // Jupyter and IPython run those of the directory in which they start.
    "jupyter_config.json",
    "jupyter_config.py",
    "ipython_config.json",
    "ipython_config.py",
    "ipython_kernel_config.json",
    "ipython_kernel_config.py",
    "jupyter_lab_config.py",
    "jupyter_notebook_config.json",
    "jupyter_notebook_config.py",
    "jupyter_server_config.json",
    "jupyter_server_config.py",
];

/// Beginnings of the names of such files, and of those that are settings.
const BEGINNINGS: [&str; 4] = [".huskyrc", ".envrc.", ".simple-git-hooks.", "simple-git-hooks."];
const BEGINNINGS_OF_SETTINGS: [&str; 4] = ["lefthook", ".lefthook", "mise.", ".mise."];
const SETTINGS: [&str; 5] = [".toml", ".yml", ".yaml", ".json", ".jsonc"];

const ENDS: [&str; 2] = [".code-workspace", ".sublime-project"];

/// Parts of the paths of such files.
const PATHS: [&str; 4] = [".ddev/config.", ".github/hooks/", "mise/conf.d", "mise/config"];

/// Directories of packages in which Python runs the lines of `*.pth` files when it starts.
const PACKAGES: [&str; 2] = ["dist-packages", "site-packages"];

/// Whether a path names such a file. Of `.gitattributes`, the content decides.
pub fn acts_by_itself(path: &str) -> bool {
    // Case does not matter on many disks.
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    FILES.contains(&name)
        || DIRECTORIES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end))
        || SETTINGS.iter().any(|end| name.ends_with(end))
            && BEGINNINGS_OF_SETTINGS.iter().any(|beginning| name.starts_with(beginning))
        // Scripts of an environment of Python, whatever its directory is called.
        || name.starts_with("activate") && parts.clone().next() == Some("bin")
        || name.ends_with(".pth") && parts.clone().any(|directory| PACKAGES.contains(&directory))
        // The project's own `.Rprofile` runs it.
        || name == "activate.r" && parts.clone().next() == Some("renv")
        || PATHS.iter().any(|part| path.contains(part))
        || parts.any(|directory| DIRECTORIES.contains(&directory))
}

#[cfg(test)]
mod tests {
    use super::acts_by_itself;

    #[test]
    fn files_are_recognised_anywhere_and_in_any_case() {
        for path in [
            ".envrc",
            "sub/.ENVRC",
            ".vscode/tasks.json",
            "a/b/.claude/settings.json",
            ".husky",
            ".gitmodules",
            "lefthook-local.toml",
            ".config/mise/config.toml",
            ".config/mise/conf.d/x.toml",
            ".github/hooks/a.json",
            "Team.code-workspace",
            "sub/.hg/hgrc",
            ".ropeproject/config.py",
            ".simple-git-hooks.json",
            "simple-git-hooks.cjs",
            "src/sitecustomize.py",
            ".luarc.jsonc",
            "venv/pyvenv.cfg",
            "venv/bin/activate",
            "tools/env/bin/activate.fish",
            "renv/activate.R",
            "jupyter_server_config.py",
            "notebooks/jupyter_notebook_config.py",
            "ipython_config.py",
            "env/lib/python3.13/site-packages/a.pth",
            ".openhands/setup.sh",
            ".openhands/microagents/repo.md",
            "conductor.json",
            ".superset/config.json",
            ".rovodev/config.yml",
            ".ddev/config.yaml",
            "web/.ddev/config.local.yaml",
            ".prek.toml",
            ".tabnine/mcp_servers.json",
            ".env.leave",
            "app/.autoenv.leave",
            ".gitpod/automations.yaml",
            ".gitpod.Dockerfile",
            ".ona/automations.yaml",
            ".idx/dev.nix",
            ".codesandbox/tasks.json",
            ".replit",
            "replit.nix",
            ".stackblitzrc",
            "devfile.yaml",
        ] {
            assert!(acts_by_itself(path), "{path}");
        }
        for path in [
            "envrc",
            "src/vscode/tasks.json",
            ".github/workflows/ci.yml",
            "CLAUDE.md",
            "claude",
            ".gitignore",
            "src/mise.rs",
            "src/simple-git-hooks/a.js",
            "eslint.config.js",
            ".pnpmfile.cjs",
            "src/activate.rs",
            "AGENTS.md",
            ".github/copilot-instructions.md",
            "R/activate.R",
            "renv/settings.json",
            "models/best.pth",
            ".ddev/web-build/Dockerfile",
            ".env.example",
            "src/replit.py",
        ] {
            assert!(!acts_by_itself(path), "{path}");
        }
    }
}
