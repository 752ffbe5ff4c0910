//! The sandbox of one session: a room, opened when first needed and again if it was lost, its egress proxy, and the
//! environment variables for both.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use autonoe_egress::{Egress, EgressRefusal, EgressRules};
use tokio::sync::{Mutex, MutexGuard};

use crate::bounds::{Bounds, SandboxLayer};
use crate::launch::Launch;
use crate::open::{OpenError, Sandbox};
use crate::room::Room;

/// Hosts that are reached without the egress proxy: they are the room itself.
const NO_PROXY: &str = "localhost,127.0.0.1,::1,0.0.0.0";

/// The configuration of a session's room; the same for all sessions of a run.
#[derive(Debug, Clone)]
pub struct RoomConfig {
    pub sandbox: Sandbox,
    pub bounds: Bounds,
    pub egress: Arc<EgressRules>,
    /// The environment of programs, in addition to the variables that the room sets.
    pub env: Vec<(String, String)>,
    /// Further absolute paths that stay read-only; read when a room is opened.
    pub guarded: Arc<RwLock<Vec<PathBuf>>>,
    /// Where the sandboxes of agents' sessions are found while they run.
    pub sessions: RunningSandboxes,
}

/// The sandbox of one session. Opens its room when the first program is started.
#[derive(Debug)]
pub struct SessionSandbox {
    room_config: RoomConfig,
    /// Whether another room cleans up in the project.
    is_beside_another: bool,
    open_room: Mutex<Option<OpenRoom>>,
    /// One sentence for each room that was lost.
    lost: std::sync::Mutex<Vec<String>>,
}

#[derive(Debug)]
struct OpenRoom {
    room: Room,
    egress: Option<Egress>,
    env: Vec<(String, String)>,
}

/// The sandboxes of the sessions that run at the moment.
#[derive(Debug, Clone, Default)]
pub struct RunningSandboxes(Arc<std::sync::Mutex<Vec<Weak<SessionSandbox>>>>);

impl RunningSandboxes {
    pub(crate) fn add(&self, sandbox: &Arc<SessionSandbox>) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|earlier| earlier.strong_count() > 0);
        running.push(Arc::downgrade(sandbox));
    }

    /// That of the session that started last.
    pub fn last(&self) -> Option<Arc<SessionSandbox>> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().rev().find_map(Weak::upgrade)
    }
}

impl SessionSandbox {
    pub fn new(room_config: RoomConfig) -> Self {
        let (open_room, lost) = (Mutex::new(None), std::sync::Mutex::default());
        Self { room_config, is_beside_another: false, open_room, lost }
    }

    /// A second sandbox around the same project, for programs that those of this one must not influence: with a home and a temporary
    /// directory in `private`, without routes of the egress proxy, and with a search path that names nothing that can be written here.
    /// It is opened after this one and closed before it.
    pub fn beside(&self, private: &Path) -> Self {
        let mut room_config = self.room_config.clone();
        let own_home = private.join("home");
        let is_own = |path: &Path| !path.starts_with(&self.bounds().home);
        let bounds = &mut room_config.bounds;
        (bounds.home, bounds.temp) = (own_home.clone(), private.join("tmp"));
        bounds.protected.retain(|path| is_own(path));
        bounds.records = None;
        bounds.tracing = false;
        bounds.nested = false;
        let egress = Arc::make_mut(&mut room_config.egress);
        egress.routes.clear();
        egress.sockets.clear();
        for (name, value) in &mut room_config.env {
            match Path::new(value.as_str()).strip_prefix(&self.bounds().home) {
                Ok(below) => *value = own_home.join(below).display().to_string(),
                Err(_) if name == "PATH" => *value = self.fixed_search_path(value),
                Err(_) => {}
            }
        }
        Self { is_beside_another: true, ..Self::new(room_config) }
    }

    /// The directories of a search path that programs here cannot write.
    fn fixed_search_path(&self, path: &str) -> String {
        let bounds = self.bounds();
        let is_fixed = |entry: &&str| {
            let entry = Path::new(entry);
            let real = bounds.real(entry);
            let real = real.canonicalize().unwrap_or(real);
            let written = || bounds.writable().chain(bounds.private());
            entry.is_absolute() && !written().any(|written| real.starts_with(written))
        };
        path.split(':').filter(is_fixed).collect::<Vec<_>>().join(":")
    }

    /// Opens the room now, unless it is open.
    pub async fn ensure_open(&self) -> Result<(), OpenError> {
        self.opened().await.map(drop)
    }

    /// That of an agent's session, which is then among [`RoomConfig::sessions`].
    pub fn of_agent(room_config: RoomConfig) -> Arc<Self> {
        let sessions = room_config.sessions.clone();
        let sandbox = Arc::new(Self::new(room_config));
        sessions.add(&sandbox);
        sandbox
    }

    /// Whether the room is open.
    pub(crate) async fn is_open(&self) -> bool {
        self.open_room.lock().await.as_ref().is_some_and(|open| open.room.is_open())
    }

    /// Whether ports in the room are none of this machine.
    pub(crate) fn has_own_network(&self) -> bool {
        self.room_config.sandbox.layer() == SandboxLayer::Bubblewrap
    }

    /// Prepares to run `program` in the room, with the environment of this session.
    pub async fn command(&self, program: impl AsRef<OsStr>) -> Result<Launch, OpenError> {
        let open_room = self.opened().await?;
        let Some(OpenRoom { room, env, .. }) = open_room.as_ref() else {
            return Err(OpenError::Io(io::Error::other("the room is gone")));
        };
        let pairs = self.room_config.env.iter().chain(env).map(|(name, value)| (name, value));
        Ok(room.command(program).envs(pairs))
    }

    async fn opened(&self) -> Result<MutexGuard<'_, Option<OpenRoom>>, OpenError> {
        let mut open_room = self.open_room.lock().await;
        if open_room.as_ref().is_none_or(|open| !open.room.is_open()) {
            if let Some(OpenRoom { room, .. }) = open_room.as_ref() {
                self.record_loss(room).await;
            }
            *open_room = Some(self.open().await?);
        }
        Ok(open_room)
    }

    /// What the programs of the session may access.
    pub fn bounds(&self) -> &Bounds {
        &self.room_config.bounds
    }

    /// Prepares to run our own binary in the room, in one of its helper roles.
    pub async fn own_binary(&self) -> Result<Launch, OpenError> {
        self.command(self.room_config.sandbox.own_binary_inside()).await
    }

    async fn open(&self) -> Result<OpenRoom, OpenError> {
        let RoomConfig { sandbox, bounds, egress, guarded, .. } = &self.room_config;
        let mut room_bounds = bounds.clone();
        let guarded = guarded.read().unwrap_or_else(PoisonError::into_inner).clone();
        room_bounds.protected.extend(guarded.into_iter().filter(|path| path.exists()));
        let mut room = match self.is_beside_another {
            true => sandbox.open_beside(room_bounds).await?,
            false => sandbox.open(room_bounds).await?,
        };
        if sandbox.layer() == SandboxLayer::None {
            return Ok(OpenRoom { room, egress: None, env: Vec::new() });
        }
        let listener =
            room.take_egress_listener().ok_or_else(|| io::Error::other("the room has no egress socket"))?;
        let egress = Egress::start(listener, Arc::clone(egress))?;
        let env = environment(sandbox.layer(), bounds, &egress.proxy_url());
        Ok(OpenRoom { room, egress: Some(egress), env })
    }

    /// Whether all network traffic out of the room goes through an egress proxy.
    pub fn has_egress(&self) -> bool {
        self.room_config.sandbox.layer() != SandboxLayer::None
    }

    /// The connections that the egress proxy has refused since the last call.
    pub async fn refusals(&self) -> Vec<EgressRefusal> {
        let open_room = self.open_room.lock().await;
        let egress = open_room.as_ref().and_then(|open| open.egress.as_ref());
        egress.map(Egress::refusals).unwrap_or_default()
    }

    /// A sentence that explains how to allow a host.
    pub fn how_to_allow(&self) -> &str {
        &self.room_config.egress.how_to_allow
    }

    /// The URL, for programs inside, of an egress route or socket. `None` if there is no egress proxy or nothing has that
    /// name.
    pub async fn route_url(&self, name: &str) -> Option<String> {
        let open_room = self.open_room.lock().await;
        open_room.as_ref()?.egress.as_ref()?.route_url(name)
    }

    /// Ends everything in the room. Returns one sentence for each room that was lost and for each repair in the project.
    pub async fn close(&self) -> Vec<String> {
        let repairs = match self.open_room.lock().await.take() {
            Some(OpenRoom { room, .. }) => {
                self.record_loss(&room).await;
                room.close().await
            }
            None => Vec::new(),
        };
        let mut notices = std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner));
        notices.extend(repairs);
        notices
    }

    async fn record_loss(&self, room: &Room) {
        if let Some(why) = room.why_lost().await {
            let sentence = format!("The session's sandbox was lost with everything that ran in it: {why}.");
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
        }
    }
}

/// The environment variables that the room sets.
fn environment(layer: SandboxLayer, bounds: &Bounds, proxy: &str) -> Vec<(String, String)> {
    let temp = if layer == SandboxLayer::Bubblewrap { "/tmp".into() } else { bounds.temp.to_string_lossy() };
    let mut env = vec![("HOME", bounds.home.to_string_lossy()), ("TMPDIR", temp)];
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        env.push((name, proxy.into()));
    }
    env.extend([("NO_PROXY", NO_PROXY.into()), ("no_proxy", NO_PROXY.into())]);
    // Node reads the proxy variables only since version 24, and only when this variable is set.
    env.push(("NODE_USE_ENV_PROXY", "1".into()));
    env.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
}
