//! Where the programs of one session live: a room, opened when first needed and again if it was lost, its egress proxy to the
//! outside, and the environment that goes with both.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use autonoe_egress::{Egress, Refusal, Rules};
use tokio::sync::Mutex;

use crate::bounds::{Bounds, Layer};
use crate::launch::Launch;
use crate::open::{OpenError, Sandbox};
use crate::opened::Room;

/// Names that lead to the room itself and not through the egress proxy.
const NOT_THROUGH_THE_DOOR: &str = "localhost,127.0.0.1,::1";

/// Everything that session_sandbox are made from; the same for all sessions of a run.
#[derive(Debug, Clone)]
pub struct RoomConfig {
    /// Builds the rooms.
    pub sandbox: Sandbox,
    /// What a room may touch.
    pub bounds: Bounds,
    /// What may pass the egress proxy.
    pub egress: Arc<Rules>,
    /// The environment of programs, beside what the room itself says.
    pub env: Vec<(String, String)>,
    /// Further files that stay read-only, absolute, as they are when a room is opened.
    pub guarded: Arc<RwLock<Vec<PathBuf>>>,
}

/// Where the programs of one session live.
#[derive(Debug)]
pub struct SessionSandbox {
    room_config: RoomConfig,
    occupied: Mutex<Option<Occupied>>,
    /// What became of rooms that were lost, each a sentence.
    lost: std::sync::Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Occupied {
    room: Room,
    egress: Option<Egress>,
    env: Vec<(String, String)>,
}

impl SessionSandbox {
    /// SessionSandbox that nobody lives in yet.
    pub fn new(room_config: RoomConfig) -> Self {
        Self { room_config, occupied: Mutex::new(None), lost: std::sync::Mutex::default() }
    }

    /// Prepares to run `program` in the room, with the environment of this session.
    pub async fn command(&self, program: impl AsRef<OsStr>) -> Result<Launch, OpenError> {
        let mut occupied = self.occupied.lock().await;
        if occupied.as_ref().is_none_or(|occupied| !occupied.room.is_open()) {
            if let Some(Occupied { room, .. }) = occupied.as_ref() {
                self.note_loss(room).await;
            }
            *occupied = Some(self.open().await?);
        }
        let Some(Occupied { room, env, .. }) = occupied.as_ref() else {
            return Err(OpenError::Io(io::Error::other("the room is gone")));
        };
        let pairs = self.room_config.env.iter().chain(env).map(|(name, value)| (name, value));
        Ok(room.command(program).envs(pairs))
    }

    /// Prepares to run our own binary in the room, in one of its other parts.
    pub async fn ourselves(&self) -> Result<Launch, OpenError> {
        self.command(self.room_config.sandbox.ourselves_inside()).await
    }

    async fn open(&self) -> Result<Occupied, OpenError> {
        let RoomConfig { sandbox, bounds, egress, guarded, .. } = &self.room_config;
        let mut whole = bounds.clone();
        let guarded = guarded.read().unwrap_or_else(PoisonError::into_inner).clone();
        whole.protected.extend(guarded.into_iter().filter(|path| path.exists()));
        let mut room = sandbox.open(whole).await?;
        if sandbox.layer() == Layer::None {
            return Ok(Occupied { room, egress: None, env: Vec::new() });
        }
        let way_out = room.take_way_out().ok_or_else(|| io::Error::other("the room has no way out"))?;
        let egress = Egress::start(way_out, Arc::clone(egress))?;
        let env = environment(sandbox.layer(), bounds, &egress.proxy_url());
        Ok(Occupied { room, egress: Some(egress), env })
    }

    /// Whether whatever leaves the room passes a egress proxy that judges it.
    pub fn has_egress(&self) -> bool {
        self.room_config.sandbox.layer() != Layer::None
    }

    /// What was refused at the egress proxy since this was last asked.
    pub async fn refusals(&self) -> Vec<Refusal> {
        let occupied = self.occupied.lock().await;
        let egress = occupied.as_ref().and_then(|occupied| occupied.egress.as_ref());
        egress.map(Egress::refusals).unwrap_or_default()
    }

    /// A sentence that tells how a host can be allowed.
    pub fn how_to_allow(&self) -> &str {
        &self.room_config.egress.how_to_allow
    }

    /// The URL, seen from inside, of a provider whose key is put in at the egress proxy, or of a socket that is reached through it. None
    /// where there is no egress proxy.
    pub async fn route_url(&self, name: &str) -> Option<String> {
        let occupied = self.occupied.lock().await;
        occupied.as_ref()?.egress.as_ref()?.route_url(name)
    }

    /// Ends everything in the room. Says what became of rooms that were lost, and what had to be put right in the project.
    pub async fn close(&self) -> Vec<String> {
        let put_right = match self.occupied.lock().await.take() {
            Some(Occupied { room, .. }) => {
                self.note_loss(&room).await;
                room.close().await
            }
            None => Vec::new(),
        };
        let mut told = std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner));
        told.extend(put_right);
        told
    }

    async fn note_loss(&self, room: &Room) {
        if let Some(why) = room.why_lost().await {
            let sentence =
                format!("The sandbox of the session was lost, with everything that ran in it: {why}.");
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
        }
    }
}

/// What the room itself says.
fn environment(layer: Layer, bounds: &Bounds, proxy: &str) -> Vec<(String, String)> {
    let temp = if layer == Layer::Bubblewrap { "/tmp".into() } else { bounds.temp.to_string_lossy() };
    let mut env = vec![("HOME", bounds.home.to_string_lossy()), ("TMPDIR", temp)];
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        env.push((name, proxy.into()));
    }
    env.extend([("NO_PROXY", NOT_THROUGH_THE_DOOR.into()), ("no_proxy", NOT_THROUGH_THE_DOOR.into())]);
    // Node has looked at these variables by itself only since version 24, and only when told to.
    env.push(("NODE_USE_ENV_PROXY", "1".into()));
    env.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
}
