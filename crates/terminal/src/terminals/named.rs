//! Names that are in use: the session with the name is reused, or replaced by a new one.
//!
//! A session that is replaced stays listed by its name until its program has ended; then the new session replaces it in
//! one step. So no other caller can take the name or the room in between, and two callers that restart one name at the
//! same time end each other's session in turn and leave one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::Signal;

use super::{Ending, Entry, Place, SpawnSpec, Terminals, end_and_forget, resolve};
use crate::error::ToolError;
use crate::limits;
use crate::platform::processes::Survivor;
use crate::record::Recorder;
use crate::terminal::exit_of;

/// The treatment of an existing session with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// It stays, and the call fails.
    Error,
    /// It is returned if its program is running, and replaced otherwise.
    Reuse,
    /// It is replaced.
    Restart,
}

/// The result of `spawn`.
#[derive(Debug)]
pub struct Spawned {
    /// The session.
    pub entry: Arc<Entry>,
    /// Whether it existed before the call.
    pub is_reused: bool,
    /// Processes of the replaced session that could not be ended.
    pub survivors: Vec<Survivor>,
}

impl Terminals {
    /// Starts a program in a new session, or returns the one with its name. Continues even if the caller is dropped,
    /// which could otherwise leave an incomplete tmux window, or end a session without a new one.
    ///
    /// # Errors
    /// If the program cannot be started. A session that was to be replaced keeps running, unless the error occurs after
    /// it was ended.
    pub async fn spawn(
        self: &Arc<Self>,
        spec: SpawnSpec,
        if_exists: IfExists,
    ) -> Result<Spawned, ToolError> {
        if if_exists == IfExists::Error && spec.place == Place::Pty {
            return Ok(Spawned::new(self.launch(&mut self.lock(), spec)?));
        }
        let sessions = Arc::clone(self);
        let spawned = async move {
            match if_exists {
                IfExists::Error => Ok(Spawned::new(sessions.start(&spec).await?)),
                _ => sessions.take_over(spec, if_exists, None).await,
            }
        };
        tokio::spawn(spawned).await.map_err(|_| ToolError::gone())?
    }

    /// Ends the session with a name or an id and starts its program again.
    ///
    /// # Errors
    /// If there is no such session, or this server did not start it.
    pub async fn restart(self: &Arc<Self>, name: &str) -> Result<Spawned, ToolError> {
        let old = self.find(Some(name)).await?;
        let Some(spec) = old.spec.clone() else {
            return Err(ToolError::new(
                "unsupported",
                format!(
                    "{name:?} was not started by this server, so its command is unknown: give command"
                ),
            ));
        };
        let sessions = Arc::clone(self);
        let spawned = async move { sessions.take_over(spec, IfExists::Restart, Some(old)).await };
        tokio::spawn(spawned).await.map_err(|_| ToolError::gone())?
    }

    /// Starts a program whose name may be in use. `old` is the session to replace, if it is known.
    async fn take_over(
        &self,
        spec: SpawnSpec,
        if_exists: IfExists,
        mut old: Option<Arc<Entry>>,
    ) -> Result<Spawned, ToolError> {
        let mut survivors = Vec::new();
        let done = |entry, survivors| Spawned { entry, is_reused: false, survivors };
        loop {
            let holder = match old.take() {
                Some(old) => Some(old),
                None => self.holder(&spec).await,
            };
            let Some(holder) = holder else {
                match self.start(&spec).await {
                    // Another caller has taken the name.
                    Err(_) if self.listed_as(spec.name.as_deref()).is_some() => continue,
                    started => return started.map(|entry| done(entry, survivors)),
                }
            };
            self.rules().check_seeing(&holder.names())?;
            if if_exists == IfExists::Reuse && holder.is_running().await {
                return Ok(Spawned { entry: holder, is_reused: true, survivors });
            }
            self.check_start(&spec, &holder).await?;
            holder.is_ending.store(true, Ordering::Relaxed);
            let ending = Ending::Kill(Signal::HUP, limits::GRACE);
            let left = end_and_forget(&holder, ending).await;
            self.forget_leader(&holder, &left);
            survivors.extend(left);
            if let Some(started) = self.start_over(&spec, &holder).await {
                return started.map(|entry| done(entry, survivors)).map_err(|error| {
                    let label = holder.label();
                    let message = format!("{}. The session {label:?} has ended", error.message);
                    ToolError::new(error.code, message)
                });
            }
        }
    }

    /// Returns the session with the name of a new program.
    async fn holder(&self, spec: &SpawnSpec) -> Option<Arc<Entry>> {
        let name = spec.name.as_deref()?;
        match (self.listed_as(Some(name)), &spec.place) {
            // An earlier server may have started it in tmux.
            (None, Place::Tmux(_)) => self.find_again(name).await,
            (listed, _) => listed,
        }
    }

    /// Returns the listed session with a name.
    fn listed_as(&self, name: Option<&str>) -> Option<Arc<Entry>> {
        let has_name = |entry: &&Arc<Entry>| name.is_some() && entry.name.as_deref() == name;
        self.lock().iter().find(has_name).cloned()
    }

    /// Checks, before a session is ended, that its replacement can be started.
    async fn check_start(&self, spec: &SpawnSpec, old: &Arc<Entry>) -> Result<(), ToolError> {
        old.check_control().await?;
        self.rules().check_typing(&old.names())?;
        if let Place::Tmux(Some(session)) = &spec.place
            && old.is_running().await
        {
            return Err(ToolError::new(
                "unsupported",
                format!(
                    "tmux_session: {session:?} may end with its last window, so restart is not supported there: call \
                     close_session with kill, and then spawn"
                ),
            ));
        }
        resolve(spec, "", None, None, self.rules())?;
        let others: Vec<Arc<Entry>> =
            self.lock().iter().filter(|entry| !Arc::ptr_eq(entry, old)).cloned().collect();
        // Without the name: a session that takes it meanwhile is replaced too.
        self.check_room(&others, &SpawnSpec { name: None, ..spec.clone() })?;
        spec.recorder(&old.id, self.limits())?.iter().for_each(Recorder::forget);
        Ok(())
    }

    /// Starts a program whose name is free.
    async fn start(&self, spec: &SpawnSpec) -> Result<Arc<Entry>, ToolError> {
        match &spec.place {
            Place::Pty => self.launch(&mut self.lock(), spec.clone()),
            Place::Tmux(session) => self.spawn_in_tmux(spec.clone(), session.as_deref()).await,
        }
    }

    /// Replaces a session that has ended; `None` if another session has taken the name.
    async fn start_over(
        &self,
        spec: &SpawnSpec,
        old: &Arc<Entry>,
    ) -> Option<Result<Arc<Entry>, ToolError>> {
        let is_old = |entry: &Arc<Entry>| Arc::ptr_eq(entry, old);
        {
            let mut entries = self.lock();
            let has_name = |entry: &Arc<Entry>| spec.name.is_some() && entry.name == spec.name;
            if entries.iter().any(|entry| has_name(entry) && !is_old(entry)) {
                return None;
            }
            if spec.name.is_none() && !entries.iter().any(is_old) {
                // Another caller has closed or restarted it, and without a name its replacement cannot be found.
                return Some(Err(ToolError::gone()));
            }
            entries.retain(|entry| !is_old(entry));
            if spec.place == Place::Pty {
                return Some(self.launch(&mut entries, spec.clone()));
            }
        }
        match self.start(spec).await {
            Err(_) if self.listed_as(spec.name.as_deref()).is_some() => None,
            started => Some(started),
        }
    }
}

impl Spawned {
    fn new(entry: Arc<Entry>) -> Spawned {
        Spawned { entry, is_reused: false, survivors: Vec::new() }
    }
}

impl Entry {
    /// Returns whether its program runs and is not being ended.
    async fn is_running(&self) -> bool {
        let exit = self.handle.call(exit_of).await;
        exit == Some(None) && !self.is_ending.load(Ordering::Relaxed)
    }
}
