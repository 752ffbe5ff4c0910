//! Drawings of the steps: as text for a terminal, as a Mermaid flowchart and as SVG. An invalid definition is drawn as far as
//! possible.

mod boxes;
mod labels;
mod layers;
mod layout;
mod mermaid;
mod routes;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use mermaid::mermaid;
pub use svg::svg;
pub use text::text;
