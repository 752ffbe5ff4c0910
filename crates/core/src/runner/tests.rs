//! Tests of the loop against the tables of the seeds. Every test names the row or rule it checks.

mod attempts;
mod ends;
mod examined;
mod failover;
mod forever;
mod limits;
mod outages;
mod quota;
mod record;
mod retries;
mod rounds;
mod workers;

use std::num::NonZeroU32;
use std::time::Duration;

use crate::limits::Limits;
use crate::money::Usd;
use crate::runner::RunOptions;

fn options() -> RunOptions {
    RunOptions::default()
}

fn max_iterations(limit: u32) -> RunOptions {
    limited(Limits { max_iterations: NonZeroU32::new(limit), ..Limits::default() })
}

fn max_cost(limit: f64) -> RunOptions {
    limited(Limits { max_cost: Some(Usd(limit)), ..Limits::default() })
}

fn max_duration(limit: Duration) -> RunOptions {
    limited(Limits { max_duration: Some(limit), ..Limits::default() })
}

fn limited(limits: Limits) -> RunOptions {
    RunOptions { limits, ..options() }
}

fn max_retries(max_retries: u32) -> RunOptions {
    RunOptions { max_retries, ..options() }
}

fn waiting_for_quota() -> RunOptions {
    RunOptions { wait_for_quota: true, ..options() }
}
