//! The commands of the language profiles, as data.

use autonoe_core::profile::Profile;

pub struct ProfileCommands {
    pub profile: Profile,
    /// The rule name shown in verdicts.
    pub rule: &'static str,
    /// Test runners, type checkers and linters, of which `sync` allows some forms.
    pub verification: &'static [&'static str],
    /// The rest of the toolchain.
    pub development: &'static [&'static str],
}

#[rustfmt::skip]
pub static PROFILES: [ProfileCommands; 7] = [
    ProfileCommands {
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
    ProfileCommands { profile: Profile::Bun, rule: "profile.bun", verification: &["bun", "bunx"], development: &[] },
    ProfileCommands {
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
    ProfileCommands {
        profile: Profile::Ruby,
        rule: "profile.ruby",
        verification: &["bundle", "rspec", "minitest", "cucumber", "rubocop", "standard", "standardrb"],
        development: &[
            "bundler", "gem", "ruby", "irb", "rake", "thor", "rails", "hanami", "puma", "unicorn", "rackup",
            "erb",
        ],
    },
    ProfileCommands {
        profile: Profile::Go,
        rule: "profile.go",
        verification: &["go", "gofmt", "golangci-lint", "staticcheck", "golint"],
        development: &["goimports", "gopls", "dlv", "goreleaser", "gotestsum", "air", "templ", "sqlc", "buf"],
    },
    ProfileCommands {
        profile: Profile::Rust,
        rule: "profile.rust",
        verification: &["cargo", "rustfmt"],
        development: &[
            "rustc", "rustup", "cargo-fmt", "clippy", "cargo-clippy", "rust-analyzer", "cargo-watch",
            "wasm-pack", "trunk",
        ],
    },
    ProfileCommands {
        profile: Profile::Php,
        rule: "profile.php",
        verification: &["php", "phpunit", "pest", "phpstan", "psalm", "phpcs"],
        development: &[
            "composer", "codeception", "codecept", "phpcbf", "php-cs-fixer", "artisan", "symfony", "laminas",
            "pint", "rector",
        ],
    },
];

/// Whether any language has this command.
pub fn is_known(name: &str) -> bool {
    profiles_with(name).next().is_some()
}

pub fn belongs_to(name: &str, profile: Profile) -> bool {
    profiles_with(name).any(|commands| commands.profile == profile)
}

pub fn profiles_with(name: &str) -> impl Iterator<Item = &'static ProfileCommands> {
    PROFILES
        .iter()
        .filter(move |commands| commands.verification.contains(&name) || commands.development.contains(&name))
}
