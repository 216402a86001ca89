//! A name that is taken: the session that has it is used, or gives way to a new one.
//!
//! A session that gives way stays listed, by its name, until its program has ended and the new one takes its place in one
//! step. So there is no moment in which another caller could take the name or the room for it, and two callers that
//! restart one name at once end each other's session in turn and leave one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::Signal;

use super::{Ending, Entry, Place, SpawnSpec, Terminals, end_for_good, resolve};
use crate::error::ToolError;
use crate::limits;
use crate::platform::processes::Survivor;
use crate::record::Recorder;
use crate::terminal::exit_of;

/// What becomes of a session that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// It stays, and the call is refused.
    Error,
    /// It is the answer if its program runs, and gives way otherwise.
    Reuse,
    /// It gives way.
    Restart,
}

/// What `spawn` made.
#[derive(Debug)]
pub struct Spawned {
    /// The terminal.
    pub entry: Arc<Entry>,
    /// It was there already.
    pub is_reused: bool,
    /// Processes of the session that gave way which could not be ended.
    pub survivors: Vec<Survivor>,
}

impl Terminals {
    /// Starts a program in a new terminal, or finds the one that has its name. It goes on to its end even if the caller
    /// goes away: a window would be left half made, or a session be ended without a new one.
    ///
    /// # Errors
    /// If it cannot be started. A session that was to give way runs on then, unless it was found out too late.
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

    /// Ends the session of a name or an id and starts the same again.
    ///
    /// # Errors
    /// If there is none, or it was not started here.
    pub async fn restart(self: &Arc<Self>, name: &str) -> Result<Spawned, ToolError> {
        let old = self.find(Some(name)).await?;
        let Some(spec) = old.spec.clone() else {
            return Err(ToolError::new(
                "unsupported",
                format!(
                    "{name:?} was not started by this server, which does not know its command: give command"
                ),
            ));
        };
        let sessions = Arc::clone(self);
        let spawned = async move { sessions.take_over(spec, IfExists::Restart, Some(old)).await };
        tokio::spawn(spawned).await.map_err(|_| ToolError::gone())?
    }

    /// Starts a program whose name may be taken; `old` is the session that gives way, if it is known.
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
                    // Another caller was faster.
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
            let left = end_for_good(&holder, ending).await;
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

    /// Returns the session that has the name of what is to be started.
    async fn holder(&self, spec: &SpawnSpec) -> Option<Arc<Entry>> {
        let name = spec.name.as_deref()?;
        match (self.listed_as(Some(name)), &spec.place) {
            // It may have been started in tmux before us.
            (None, Place::Tmux(_)) => self.find_again(name).await,
            (listed, _) => listed,
        }
    }

    /// Returns the session that is listed by a name.
    fn listed_as(&self, name: Option<&str>) -> Option<Arc<Entry>> {
        let is_it = |entry: &&Arc<Entry>| name.is_some() && entry.name.as_deref() == name;
        self.lock().iter().find(is_it).cloned()
    }

    /// Looks, before a session is ended, at everything by which its successor could fail.
    async fn check_start(&self, spec: &SpawnSpec, old: &Arc<Entry>) -> Result<(), ToolError> {
        old.check_control().await?;
        self.rules().check_typing(&old.names())?;
        if let Place::Tmux(Some(session)) = &spec.place
            && old.is_running().await
        {
            return Err(ToolError::new(
                "unsupported",
                format!(
                    "tmux_session: {session:?} may end with its last window, so nothing is restarted there: call \
                     close_session with kill, and then spawn"
                ),
            ));
        }
        resolve(spec, "", None, None, self.rules())?;
        let others: Vec<Arc<Entry>> =
            self.lock().iter().filter(|entry| !Arc::ptr_eq(entry, old)).cloned().collect();
        // Who took the name meanwhile gives way as well.
        self.check_room(&others, &SpawnSpec { name: None, ..spec.clone() })?;
        spec.recorder(&old.id, self.limits())?.iter().for_each(Recorder::forget);
        Ok(())
    }

    /// Starts a program where there is no session of its name.
    async fn start(&self, spec: &SpawnSpec) -> Result<Arc<Entry>, ToolError> {
        match &spec.place {
            Place::Pty => self.launch(&mut self.lock(), spec.clone()),
            Place::Tmux(session) => self.spawn_in_tmux(spec.clone(), session.as_deref()).await,
        }
    }

    /// Starts a program in the place of a session that has ended; nothing if another has the name by now.
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
                // Another caller has closed or restarted it, and no name tells what has become of it.
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
