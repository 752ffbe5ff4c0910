//! Drawings of the steps: for terminals, for documents that understand Mermaid, and as a picture. A definition in which something
//! is wrong is drawn as far as it goes.

mod boxes;
mod layers;
mod mermaid;
mod places;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod tracks;
mod words;

pub use mermaid::mermaid;
pub use svg::svg;
pub use text::text;
