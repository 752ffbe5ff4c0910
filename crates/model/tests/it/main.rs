//! The client against a scripted service on loopback, over real HTTP.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod conformance;
mod failures;
mod html;
mod limits;
mod quota;
mod raw;
mod replies;
mod requests;
mod retries;
mod streams;
mod stub;
mod support;
