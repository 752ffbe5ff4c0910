//! The languages' commands as data. In `run` an active profile's commands are free, whatever their arguments:
//! interpreters are there to run what the agent wrote. In `sync` only the forms in `verification` remain.

use super::verification;
use autonoe_core::profile::Profile;

use crate::verdict::Denial;
use crate::walk::{Call, Walker};

/// A language's commands.
pub struct Commands {
    pub profile: Profile,
    /// The name of the rule.
    pub rule: &'static str,
    /// Test runners, type checkers, linters: `sync` has forms of them.
    pub verification: &'static [&'static str],
    /// The rest of the tool chain.
    pub development: &'static [&'static str],
}

/// Every language.
#[rustfmt::skip]
pub static PROFILES: [Commands; 7] = [
    Commands {
        profile: Profile::Node,
        rule: "profile.node",
        verification: &[
            "npm", "npx", "yarn", "pnpm", "vitest", "jest", "playwright", "mocha", "tsc", "eslint",
            "prettier", "biome",
        ],
        development: &[
            "node", "deno", "esbuild", "vite", "webpack", "rollup", "next", "nuxt", "astro", "remix", "tsx",
            "ts-node", "nodemon", "corepack", "turbo", "nx", "vue-tsc", "svelte-check", "ng", "cypress",
            "storybook", "prisma", "drizzle-kit", "concurrently",
        ],
    },
    Commands { profile: Profile::Bun, rule: "profile.bun", verification: &["bun", "bunx"], development: &[] },
    Commands {
        profile: Profile::Python,
        rule: "profile.python",
        verification: &[
            "pytest", "tox", "nox", "mypy", "pyright", "ruff", "flake8", "pylint", "uv", "poetry", "pdm",
            "python", "python3",
        ],
        development: &[
            "pip", "pip3", "pipx", "uvx", "hatch", "flit", "venv", "virtualenv", "conda", "black", "isort",
            "django-admin", "flask", "uvicorn", "gunicorn", "hypercorn", "coverage", "alembic", "ipython",
            "jupyter",
        ],
    },
    Commands {
        profile: Profile::Ruby,
        rule: "profile.ruby",
        verification: &["bundle", "rspec", "minitest", "cucumber", "rubocop", "standard", "standardrb"],
        development: &[
            "bundler", "gem", "ruby", "irb", "rake", "thor", "rails", "hanami", "puma", "unicorn", "rackup",
            "erb",
        ],
    },
    Commands {
        profile: Profile::Go,
        rule: "profile.go",
        verification: &["go", "gofmt", "golangci-lint", "staticcheck", "golint"],
        development: &["goimports", "gopls", "dlv", "goreleaser", "gotestsum", "air", "templ", "sqlc", "buf"],
    },
    Commands {
        profile: Profile::Rust,
        rule: "profile.rust",
        verification: &["cargo", "rustfmt"],
        development: &[
            "rustc", "rustup", "cargo-fmt", "clippy", "cargo-clippy", "rust-analyzer", "cargo-watch",
            "wasm-pack", "trunk",
        ],
    },
    Commands {
        profile: Profile::Php,
        rule: "profile.php",
        verification: &["php", "phpunit", "pest", "phpstan", "psalm", "phpcs"],
        development: &[
            "composer", "codeception", "codecept", "phpcbf", "php-cs-fixer", "artisan", "symfony", "laminas",
            "pint", "rector",
        ],
    },
];

/// Whether some language has a command of this name.
pub fn is_known(name: &str) -> bool {
    of(name).next().is_some()
}

/// Whether a command belongs to a language.
pub fn is_of(name: &str, profile: Profile) -> bool {
    of(name).any(|commands| commands.profile == profile)
}

fn of(name: &str) -> impl Iterator<Item = &'static Commands> {
    PROFILES
        .iter()
        .filter(move |commands| commands.verification.contains(&name) || commands.development.contains(&name))
}

/// Judges a language's command; nothing if no language has it.
pub fn judge(walker: &mut Walker<'_>, call: Call<'_>) -> Option<Result<&'static str, Denial>> {
    let commands = of(call.name).next()?;
    if !walker.policy.has(commands.profile) {
        return Some(Err(Denial::new(
            "profile.inactive",
            format!("'{}' belongs to the profile '{}', which is not active.", call.name, commands.profile),
        )
        .instead("Use the commands of the active profiles.")));
    }
    if !walker.policy.is_sync() {
        return Some(Ok(commands.rule));
    }
    Some(verification::judge(walker, call).map(|()| commands.rule))
}
