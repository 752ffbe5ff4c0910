//! Names of files that show what a language or a tool takes them for.

/// Endings of programs whose tests have names such as `a.test.js` and `a.spec.ts`.
pub(crate) const SCRIPTS: [&str; 8] = ["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];

/// `app.env`, `.env.test`, but not `.env.example`.
pub(crate) fn is_environment(name: &str) -> bool {
    let is_example = ["dist", "example", "sample", "template"].iter().any(|end| name.ends_with(end));
    (name.ends_with(".env") || name.starts_with(".env.")) && !is_example
}
