//! Agents in workspaces of their own take turns where they meet: when a workspace is made from the user's repository, and when commits land.

use std::fs::{self, File, TryLockError};
use std::time::{Duration, Instant};

use autonoe_core::fault::{Fault, FaultLayer};

use crate::hub::Hub;

/// How long to wait for a turn, and between attempts. A landing takes seconds.
const TURN_LIMIT: Duration = Duration::from_secs(120);
const TURN_PAUSE: Duration = Duration::from_millis(50);

/// A turn, which ends when it is dropped, or with the process.
pub(crate) struct LandingTurn {
    _file: File,
}

impl Hub {
    pub(crate) async fn landing_turn(&self) -> Result<LandingTurn, Fault> {
        let path = self.layout.landing_lock();
        let opened = fs::create_dir_all(self.layout.directory())
            .and_then(|()| File::options().create(true).append(true).open(&path));
        let file = opened.map_err(|error| self.unwritable(&error))?;
        let deadline = Instant::now() + TURN_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(LandingTurn { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(TURN_PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "Another autonoe process has kept {} locked for {} s.",
                        path.display(),
                        TURN_LIMIT.as_secs()
                    );
                    return Err(Fault::permanent(FaultLayer::System, "landing", message)
                        .hint("Wait for it to end, or stop it. `autonoe land` lands commits later."));
                }
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            }
        }
    }
}
