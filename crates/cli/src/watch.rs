//! `--watch`: shows a state anew whenever it has changed.

use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;

use crate::present;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

pub struct WatchedState<T> {
    pub text: T,
    /// Whether it will not change any more.
    pub is_over: bool,
}

/// Shows the state once, or with `--watch` until it is over.
pub fn show<T: PartialEq>(
    is_watching: bool,
    mut read: impl FnMut() -> Result<WatchedState<T>, Fault>,
    print: impl Fn(&T),
) -> Result<u8, Fault> {
    let mut shown = None;
    loop {
        let state = read()?;
        if shown.as_ref() != Some(&state.text) {
            if is_watching {
                present::clear_screen();
            }
            print(&state.text);
            shown = Some(state.text);
        }
        if !is_watching || state.is_over {
            return Ok(exit::DONE);
        }
        std::thread::sleep(INTERVAL);
    }
}
