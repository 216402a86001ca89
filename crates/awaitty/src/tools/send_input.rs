//! `send_input`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use awaitty_core::{Frame, Key, Screen, Seq, encode_mouse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mouse::{MouseInput, MouseItem};
use super::outcome::WaitOutput;
use super::screen_output::{ScreenMode, header, show_frame};
use super::secret::{ask_person, check_reader, not_declared, wait_for_reader};
use super::spec::{CommandSpec, Effect, ToolSpec, Waits};
use super::state::StateOutput;
use super::submit::{SubmitResult, submit};
use super::wait_call::{act, show_screen, start};
use super::wait_params::{WaitParam, WaitRequest};
use super::writable::{ensure_not_controlled, ensure_writable};
use super::{Context, Tool, ToolResult};
use crate::export::{self, Act};
use crate::secrets::Secret;
use crate::sessions::{Entry, Sessions};
use crate::text;
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::{Driver, Part, PartKind, SendError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// Id or name.
    pub(super) session_id: Option<String>,
    /// Text to type; `\n` is Enter.
    pub(super) input: Option<String>,
    /// Keystrokes after `input`: "enter", "ctrl+c", "down", "f5", a character; or {"text": …}, {"paste": …}, {"mouse":
    /// {"row", "col"} or {"text": regex}, "button": left|middle|right|wheel_up|wheel_down, "action":
    /// click|press|release|move}.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::words_or_objects")]
    pub(super) keys: Vec<KeyParam>,
    /// `input` goes as one bracketed paste.
    #[serde(default)]
    pub(super) paste: bool,
    /// Name of a declared secret, typed first, once echo is off and the program reads. If not declared, the attached
    /// person is asked.
    pub(super) secret: Option<String>,
    /// Type or paste `input`, check that it arrived, press Enter, check that it was taken.
    #[serde(default)]
    pub(super) submit: bool,
    /// Return when one of these holds.
    pub(super) wait: Option<WaitParam>,
    /// Show only what changed. Default true.
    pub(super) diff: Option<bool>,
    /// Type even into the tmux pane that awaitty itself runs in.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) force: bool,
    /// Leave the copy mode of a tmux pane first.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) leave_copy_mode: bool,
}

/// An entry of `keys`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum KeyParam {
    Name(String),
    Text(TextParam),
    Paste(PasteParam),
    Mouse(MouseItem),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextParam {
    text: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PasteParam {
    paste: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    session_id: String,
    sent_bytes: usize,
    /// The result of `submit`: `submitted`, `not_echoed`, `swallowed`, `no_reaction` or `closed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) submit: Option<&'static str>,
    #[serde(flatten)]
    pub(super) wait: WaitOutput,
}

/// Input before it is encoded for the modes of the terminal.
pub(super) enum Item {
    /// A secret with its name, typed while echo is off.
    Secret(String, Secret),
    /// The text of `input`, sent in one write.
    Input(String),
    /// Text in an entry of `keys`.
    Typed(String),
    Pasted(String),
    Key(Key),
    Mouse(MouseInput),
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::With(&["wait", "submit", "secret"]),
    is_core: true,
    command: CommandSpec {
        alias: Some("send"),
        positions: &["session_id", "input"],
        switches: &[("literal", "Send backslashes unchanged")],
        after_help: None,
    },
    ..ToolSpec::new(
        "send_input",
        "Types into a program. With `wait` it returns when a condition holds, and shows what changed.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

fn items(sessions: &Sessions, params: &Params) -> Result<Vec<Item>, ToolError> {
    let mut items = Vec::new();
    if let Some(name) = &params.secret {
        let secret = sessions.secret(name).ok_or_else(|| not_declared(name))?;
        items.push(Item::Secret(name.clone(), secret.clone()));
        if params.input.is_none() && params.keys.is_empty() {
            // A secret alone is a password prompt, which needs Enter.
            items.push(Item::Input("\r".to_owned()));
        }
    }
    if let Some(input) = &params.input {
        let item = if params.paste { Item::Pasted } else { Item::Input };
        items.push(item(input.clone()));
    }
    for key in &params.keys {
        items.push(match key {
            KeyParam::Name(name) => Item::Key(Key::parse(name)?),
            KeyParam::Text(item) => Item::Typed(item.text.clone()),
            KeyParam::Paste(item) => Item::Pasted(item.paste.clone()),
            KeyParam::Mouse(item) => Item::Mouse(MouseInput::new(&item.mouse)?),
        });
    }
    if items.is_empty() {
        return Err(ToolError::argument(
            "input: give input or keys; to wait without typing, call a wait_for_ tool",
        ));
    }
    Ok(items)
}

/// Encodes the input for the current modes. Returns the parts to send, and the text that the terminal may echo.
fn encode(items: &[Item], screen: &Screen) -> Result<(Vec<Part>, String), ToolError> {
    let (mut parts, mut echo) = (Vec::new(), String::new());
    for item in items {
        let (bytes, kind) = match item {
            Item::Secret(_, secret) => (secret.value().as_bytes().to_vec(), PartKind::Text),
            Item::Input(text) | Item::Typed(text) => {
                // Enter is a carriage return, which the line discipline may convert.
                let typed = text.replace("\r\n", "\r").replace('\n', "\r");
                echo += &typed;
                let is_input = matches!(item, Item::Input(_));
                (typed.into_bytes(), if is_input { PartKind::Text } else { PartKind::Key })
            }
            Item::Pasted(text) if screen.has_bracketed_paste() => {
                let text =
                    text::without_paste_marks(text).replace("\r\n", "\r").replace('\n', "\r");
                echo += &text;
                (format!("\x1b[200~{text}\x1b[201~").into_bytes(), PartKind::Key)
            }
            Item::Pasted(text) => {
                let text = text.replace("\r\n", "\r").replace('\n', "\r");
                echo += &text;
                (text.into_bytes(), PartKind::Key)
            }
            Item::Key(key) => {
                let key = key.encode(screen);
                let typed = std::str::from_utf8(&key).unwrap_or_default();
                // Other keys are not echoed as themselves, and may move the cursor.
                let is_typed = typed == "\r" || !typed.contains(char::is_control);
                echo += if is_typed { typed } else { "\x1b" };
                let kind = if key == b"\x1b" { PartKind::Escape } else { PartKind::Key };
                (key, kind)
            }
            Item::Mouse(click) => {
                let events = click.events(screen)?;
                let bytes = events.into_iter().flat_map(|event| encode_mouse(event, screen));
                (bytes.collect(), PartKind::Key)
            }
        };
        parts.push(Part { bytes, kind });
    }
    Ok((parts, echo))
}

/// The result of sending input.
pub(super) struct Sent {
    pub(super) bytes: usize,
    /// The frame before the input.
    pub(super) before: Seq,
    /// Whether a line was completed while echo was off.
    pub(super) is_hidden_line: bool,
}

impl Sent {
    /// Returns the result for no input.
    pub(super) fn nothing(frame: &Frame) -> Sent {
        Sent { bytes: 0, before: frame.seq(), is_hidden_line: false }
    }
}

/// Sends input to a session, and adds it to its log.
pub(super) fn send(
    context: &Context,
    entry: &Entry,
    driver: &mut Driver,
    items: &[Item],
) -> Result<Sent, ToolError> {
    let secret = items.iter().find_map(|item| match item {
        Item::Secret(_, secret) => Some(secret),
        _ => None,
    });
    if let Some(secret) = secret {
        check_reader(driver, secret)?;
    }
    let is_hidden = driver.reads_secret();
    if is_hidden {
        context.is_typed_hidden.store(true, Ordering::Relaxed);
    }
    let (parts, echo) = encode(items, driver.session().screen())?;
    let is_hidden_line = is_hidden && parts.iter().any(|part| part.bytes.contains(&b'\r'));
    let acts: Vec<Act> = items.iter().map(|item| item.act(driver.session().screen())).collect();
    export::trace::start_input(&context.sessions, entry, driver, acts.clone(), is_hidden);
    let sent = driver.send_parts(parts, &echo).map_err(|error| match (error, secret) {
        // The length of a secret must not be in the result or in an error.
        (SendError::LineTooLong { .. }, Some(_)) => ToolError::new(
            "limit_reached",
            "secret: together with `input` the line is too long for the terminal: send `input` in another call. Nothing was sent",
        ),
        (error, _) => error.into(),
    });
    let bytes = sent.inspect_err(|error| {
        export::trace::fail_input(&context.sessions, entry, error);
    })? - secret.map_or(0, |secret| secret.value().len());
    for act in acts {
        export::add_input(&context.sessions, entry, act, is_hidden);
    }
    let before = driver.session().anchor_seq(awaitty_core::Since::Input);
    Ok(Sent { bytes, before, is_hidden_line })
}

impl Item {
    /// Returns the item as the log of the session has it.
    fn act(&self, screen: &Screen) -> Act {
        match self {
            Item::Secret(name, _) => Act::Secret(Some(name.clone())),
            Item::Input(text) | Item::Typed(text) => Act::Typed(text.clone()),
            Item::Pasted(text) => Act::Pasted(text.clone()),
            Item::Key(key) => Act::Pressed(key.to_string()),
            Item::Mouse(input) => Act::Pointed(input.pointer(screen)),
        }
    }
}

/// Sends input to a session. A hidden line answers the question that an attached person is asked.
fn send_to(
    context: &Context,
    entry: &Entry,
    driver: &mut Driver,
    items: &[Item],
) -> Result<Sent, ToolError> {
    let sent = send(context, entry, driver, items)?;
    if sent.is_hidden_line {
        entry.people.note_typed();
    }
    Ok(sent)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let signals = &context.sessions.signals;
    let request = params.wait.as_ref().map(|wait| wait.to_request(signals)).transpose()?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let mode = if params.diff.unwrap_or(true) { ScreenMode::Diff } else { |_| ScreenMode::Full };
    perform(&context, &entry, &params, request, mode).await
}

/// Checks the parameters before anything is sent.
pub(super) fn check(context: &Context, params: &Params) -> Result<(), ToolError> {
    // A person may type a secret that is not declared.
    let sessions = &context.sessions;
    let is_asked = params.secret.as_ref().is_some_and(|name| sessions.secret(name).is_none());
    if params.submit && (params.input.is_none() || !params.keys.is_empty()) {
        return Err(submit_error());
    }
    if is_asked { Ok(()) } else { items(sessions, params).map(drop) }
}

/// Sends the input to a session and waits. `mode` returns the form of the screen in the result, given the frame before
/// the input.
pub(super) async fn perform(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    request: Option<WaitRequest>,
    mode: fn(Seq) -> ScreenMode,
) -> ToolResult<Output> {
    // Input by the attached person is allowed while they have control.
    if params.secret.is_none() {
        ensure_not_controlled(context, entry).await?;
    }
    ensure_writable(context, entry, params.force, params.leave_copy_mode).await?;
    if let Some(name) = &params.secret
        && context.sessions.secret(name).is_none()
        && (entry.people.is_typed(name) || entry.people.is_anybody_there().await)
    {
        return ask_person(context, entry, params, name, request, mode).await;
    }
    let items = items(&context.sessions, params)?;
    if params.secret.is_some() {
        wait_for_reader(entry).await?;
    }
    export::before_input(&context.sessions, entry).await;
    if params.submit {
        return run_submit(context, entry, params, request, mode).await;
    }
    let (at, of_call) = (Arc::clone(entry), context.clone());
    let Some(request) = request else {
        let sent = entry.handle.call(move |driver| {
            let sent = send_to(&of_call, &at, driver, &items)?;
            let frame = Arc::clone(driver.session().frame());
            let mut output = WaitOutput::at(&frame);
            output.state = StateOutput::of_control(driver);
            let words = format!("sent {} bytes{}", sent.bytes, output.state.words());
            if let ScreenMode::Full = mode(sent.before) {
                show_frame(driver, &frame, ScreenMode::Full, &mut output);
            }
            Ok::<_, ToolError>((sent, (output, header(&at, &frame, &words))))
        });
        let (sent, waited) = sent.await.ok_or_else(ToolError::gone)??;
        return Ok(send_result(entry, &sent, waited));
    };
    let send = move |driver: &mut Driver| {
        let sent = send_to(&of_call, &at, driver, &items)?;
        let mode = mode(sent.before);
        Ok((sent, mode))
    };
    let (sent, waited) = act(context, entry, &request, send).await?;
    Ok(send_result(entry, &sent, waited))
}

fn submit_error() -> ToolError {
    ToolError::argument(
        "submit: it types `input` and presses Enter: give input, and leave out keys and secret",
    )
}

pub(super) fn send_result(
    entry: &Entry,
    sent: &Sent,
    (wait, text): (WaitOutput, String),
) -> (Output, String) {
    (Output { session_id: entry.id.clone(), sent_bytes: sent.bytes, submit: None, wait }, text)
}

/// Submits the input, and waits if the program took it.
async fn run_submit(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    request: Option<WaitRequest>,
    mode: fn(Seq) -> ScreenMode,
) -> ToolResult<Output> {
    let (Some(input), None, true) = (&params.input, &params.secret, params.keys.is_empty()) else {
        return Err(submit_error());
    };
    let (sent, submitted) = submit(context, entry, input).await?;
    let mode = mode(sent.before);
    let request = request.filter(|_| submitted == SubmitResult::Taken);
    let (mut wait, text) = then_wait(context, entry, request, mode, submitted.word()).await?;
    let hint = submitted.hint();
    wait.hint = hint.map(str::to_owned).or(wait.hint);
    if submitted == SubmitResult::Closed {
        wait.closed = Some(true);
        wait.exit.exited = Some(true);
    }
    let text = match hint {
        Some(hint) => format!("{text}\n{hint}"),
        None => text,
    };
    let (mut output, text) = send_result(entry, &sent, (wait, text));
    output.submit = Some(submitted.word());
    Ok((output, text))
}

/// Waits as requested after input was sent; without a request, returns the screen.
pub(super) async fn then_wait(
    context: &Context,
    entry: &Arc<Entry>,
    request: Option<WaitRequest>,
    mode: ScreenMode,
    outcome: &'static str,
) -> ToolResult<WaitOutput> {
    match request {
        Some(request) => start(context, entry, &request, mode).await,
        None => show_screen(entry, mode, outcome).await,
    }
}
