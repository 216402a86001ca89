//! Sessions in tmux panes: attached at their first use, or started by awaitty.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::Pid;

use super::{
    Entry, SpawnSpec, Terminals, integration, names_of, resolve, spawn_failed, wall_clock_ms,
};
use crate::error::ToolError;
use crate::io::tmux::own::{OWN_SERVER, Placement};
use crate::io::tmux::{self, Pane, Server};
use crate::people::People;
use crate::platform::proc::ProgramImage;
use crate::record::Recorder;
use crate::runtime::SESSION_VARIABLE;
use crate::terminal::{Driver, ProgramSetup, exit_of};

fn directory() -> Result<PathBuf, ToolError> {
    crate::runtime::runtime_dir().map_err(|error| ToolError::new("internal", error.to_string()))
}

impl Terminals {
    /// Returns the session with an id or a name; without one, the only running session, or the only session. Attaches a
    /// tmux pane at its first use.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn find(&self, id: Option<&str>) -> Result<Arc<Entry>, ToolError> {
        if id.is_none()
            && let Some(entry) = self.only_running().await
        {
            return Ok(entry);
        }
        let known = self.known(id);
        let Some((server, target)) = id.and_then(tmux::parse_id) else {
            return match (known, id) {
                (Err(error), Some(name)) => {
                    self.rules().check_seeing(&[name])?;
                    self.find_again(name).await.ok_or(error)
                }
                (known, _) => known,
            };
        };
        match known {
            Ok(entry) if entry.handle.call(exit_of).await.flatten().is_none() => Ok(entry),
            // A restarted tmux server may have reused the number for another pane.
            Ok(entry) => Ok(self.attach(&server, target, None).await.unwrap_or(entry)),
            Err(_) => self.attach(&server, target, None).await,
        }
    }

    /// Returns the only session whose program is running.
    async fn only_running(&self) -> Option<Arc<Entry>> {
        let mut only = None;
        for entry in self.all() {
            if entry.handle.call(exit_of).await?.is_none() && only.replace(entry).is_some() {
                return None;
            }
        }
        only
    }

    /// Attaches to the pane that an earlier server started in tmux with a name.
    pub(super) async fn find_again(&self, name: &str) -> Option<Arc<Entry>> {
        for server in self.tmux_servers() {
            if let Some(pane) = server.pane_named(name).await {
                return self.attach(&server, &pane, Some(name)).await.ok();
            }
        }
        None
    }

    /// Attaches to a pane.
    async fn attach(
        &self,
        server: &Server,
        target: &str,
        name: Option<&str>,
    ) -> Result<Arc<Entry>, ToolError> {
        let _one_at_a_time = self.attaching.lock().await;
        let found = server.pane(target).await?;
        let id = server.id_of(&found.id);
        self.rules().check_seeing(&names_of(&id, name))?;
        if let Ok(entry) = self.known(Some(&id)) {
            // The remains of an ended pane are attached already.
            if found.is_dead || entry.handle.call(exit_of).await.flatten().is_none() {
                return Ok(entry);
            }
        }
        let history = self.limits().scrollback;
        self.check_lines(&self.lock(), None, history)?;
        let (pane, capture) = if found.is_dead {
            (Err(found.exit()), server.capture_everything(&found.id, history).await?)
        } else {
            let (pane, capture) = Pane::attach(server, &found, &directory()?, history).await?;
            (Ok(pane), capture)
        };
        let pid = Pid::from_raw(capture.info.pid).ok_or_else(ToolError::gone)?;
        let entry = Arc::new(Entry {
            tag: format!("{SESSION_VARIABLE}={id}"),
            id,
            name: name.map(str::to_owned),
            command: found.command,
            pid,
            leader: None,
            created_ms: found.created.saturating_mul(1000),
            scrollback: history,
            handle: Driver::start_pane(pane, pid, &capture, self.options(history), None),
            people: People::default(),
            image: ProgramImage::of(pid),
            pane: Some((server.clone(), found.id)),
            spec: None,
            is_ending: AtomicBool::new(false),
        });
        self.add(&entry);
        Ok(entry)
    }

    /// Adds a pane and removes one with the same id: a restarted tmux server reuses the numbers of panes.
    fn add(&self, entry: &Arc<Entry>) {
        let mut entries = self.lock();
        entries.retain(|other| other.id != entry.id);
        entries.push(Arc::clone(entry));
    }

    /// Starts a program in a tmux window, where it outlives this server: in awaitty's own tmux server, or in a session
    /// of the user's.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) async fn spawn_in_tmux(
        &self,
        spec: SpawnSpec,
        session: Option<&str>,
    ) -> Result<Arc<Entry>, ToolError> {
        let _one_at_a_time = self.attaching.lock().await;
        self.check_room(&self.lock(), &spec)?;
        let integration = integration(&spec);
        // Fails before anything is started.
        resolve(&spec, "", None, integration.as_ref(), self.rules())?;
        let (server, place) = match session {
            Some(session) => {
                let (server, session) = tmux::split_server(session);
                (server, Placement::Existing(session))
            }
            None => (Server::named(OWN_SERVER), Placement::NewSession(spec.cols, spec.rows)),
        };
        if let Some(name) = &spec.name
            && let Some(pane) = server.pane_named(name).await
        {
            let id = server.id_of(&pane);
            return Err(ToolError::argument(format!(
                "name: {name:?} is the name of {id}: if_exists \"reuse\" returns it, \"restart\" ends it and starts a \
                 new one; or choose another name"
            )));
        }
        let pending =
            server.create_pane(place, spec.name.as_deref(), &directory()?, spec.scrollback).await?;
        let id = server.id_of(&pending.pane.place().1);
        if let Err(denied) = self.rules().check_seeing(&names_of(&id, spec.name.as_deref())) {
            pending.kill().await;
            return Err(denied);
        }
        let tag = format!("{SESSION_VARIABLE}={id}");
        let start = resolve(&spec, &tag, self.socket.get(), integration.as_ref(), self.rules())?;
        let untouched = pending.pane.input_modes();
        let recorder = match spec.recorder(&id, self.limits()) {
            Ok(recorder) => recorder,
            Err(error) => {
                pending.kill().await;
                return Err(error);
            }
        };
        let started = pending.start(&start).await;
        let (pane, capture) = started.map_err(|error| {
            recorder.iter().for_each(Recorder::forget);
            spawn_failed(&spec, &error)
        })?;
        let (pid, place) = (pane.pid(), pane.place());
        let ttl = spec.ttl;
        let entry = Arc::new(Entry {
            id,
            command: shell_words::join(&spec.argv),
            name: spec.name.clone(),
            pid,
            leader: None,
            created_ms: wall_clock_ms(),
            scrollback: spec.scrollback,
            handle: Driver::start_pane(
                Ok(pane),
                pid,
                &capture,
                self.options(spec.scrollback),
                Some((untouched, ProgramSetup { shell: integration, recorder, is_wrapped: false })),
            ),
            people: People::default(),
            tag,
            image: ProgramImage::of(pid),
            pane: Some(place),
            spec: Some(spec),
            is_ending: AtomicBool::new(false),
        });
        self.add(&entry);
        self.end_later(&entry, ttl);
        Ok(entry)
    }
}
