//! `send_input`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use awaitty_core::{Frame, Key, Screen, Seq, encode_mouse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{act, show_screen, start};
use super::mouse::{Click, MouseItem};
use super::outcome::WaitOutput;
use super::secret::{ask_person, check_reader, not_declared, wait_for_reader};
use super::shown::{Show, header, show_frame};
use super::state::StateOutput;
use super::submit::{Submitted, submit};
use super::wanted::{WaitParam, Wanted};
use super::writable::{ensure_not_controlled, ensure_writable};
use super::{Answer, Context, Kind, Tool};
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
    /// Keystrokes after `input`: "enter", "ctrl+c", "down", "f5", a character; or {"text": …}, {"paste": …},
    /// {"mouse": {"row", "col"} or {"text": regex}, "button": left|middle|right|wheel_up|wheel_down, "action": click|press|release|move}.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::words_or_objects")]
    pub(super) keys: Vec<KeyParam>,
    /// `input` goes as one bracketed paste.
    #[serde(default)]
    pub(super) paste: bool,
    /// A secret that the operator declared, typed first, while echo is off and the program reads; or the person attached is
    /// asked.
    pub(super) secret: Option<String>,
    /// Type or paste `input`, see it arrive, press Enter, see it taken.
    #[serde(default)]
    pub(super) submit: bool,
    /// Answer when one of these holds.
    pub(super) wait: Option<WaitParam>,
    /// Show only what changed. Default true.
    pub(super) diff: Option<bool>,
    /// Type into the tmux pane that we run in ourselves.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) force: bool,
    /// Leave the copy mode of a tmux pane first.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) leave_copy_mode: bool,
}

/// A key or something else to send.
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
    /// What came of `submit`: `submitted`, `not_echoed`, `swallowed`, `no_reaction` or `closed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) submit: Option<&'static str>,
    #[serde(flatten)]
    pub(super) wait: WaitOutput,
}

/// What is to be sent, before it is known for which modes.
pub(super) enum Item {
    /// Typed where nobody sees it.
    Secret(Secret),
    /// Text, which goes in one write.
    Input(String),
    /// Text that is an entry of `keys`.
    Typed(String),
    Pasted(String),
    Key(Key),
    Mouse(Click),
}

pub(super) fn tool() -> Tool {
    super::tool(
        "send_input",
        "Types into a program. With `wait` it returns when a condition holds, and shows what changed.",
        Kind::Acts,
        run,
    )
}

fn items(sessions: &Sessions, params: &Params) -> Result<Vec<Item>, ToolError> {
    let mut items = Vec::new();
    if let Some(name) = &params.secret {
        let secret = sessions.secret(name).ok_or_else(|| not_declared(name))?;
        items.push(Item::Secret(secret.clone()));
        if params.input.is_none() && params.keys.is_empty() {
            // What else is there to do with a password?
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
            KeyParam::Mouse(item) => Item::Mouse(Click::new(&item.mouse)?),
        });
    }
    if items.is_empty() {
        return Err(ToolError::argument(
            "input: give input or keys; to wait without typing, call a wait",
        ));
    }
    Ok(items)
}

/// Returns the parts to send, for the modes in force, and the text of them that can be echoed.
fn encode(items: &[Item], screen: &Screen) -> Result<(Vec<Part>, String), ToolError> {
    let (mut parts, mut echo) = (Vec::new(), String::new());
    for item in items {
        let (bytes, kind) = match item {
            Item::Secret(secret) => (secret.value().as_bytes().to_vec(), PartKind::Text),
            Item::Input(text) | Item::Typed(text) => {
                // Enter is a carriage return; the line discipline makes of it what the program wants.
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
                // Other keys are not echoed as themselves, and what follows them may stand elsewhere.
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

/// What was sent, and the frame before it.
pub(super) struct Sent {
    pub(super) bytes: usize,
    pub(super) before: Seq,
    /// A line was ended where nobody sees what is typed.
    pub(super) is_hidden_line: bool,
}

impl Sent {
    /// Of nothing.
    pub(super) fn nothing(frame: &Frame) -> Sent {
        Sent { bytes: 0, before: frame.seq(), is_hidden_line: false }
    }
}

pub(super) fn send(
    context: &Context,
    driver: &mut Driver,
    items: &[Item],
) -> Result<Sent, ToolError> {
    let secret = items.iter().find_map(|item| match item {
        Item::Secret(secret) => Some(secret),
        _ => None,
    });
    if let Some(secret) = secret {
        check_reader(driver, secret)?;
    }
    if driver.reads_secret() {
        context.is_typed_hidden.store(true, Ordering::Relaxed);
    }
    let (parts, echo) = encode(items, driver.session().screen())?;
    let is_hidden_line =
        driver.reads_secret() && parts.iter().any(|part| part.bytes.contains(&b'\r'));
    let sent = driver.send_parts(parts, &echo);
    // The length of a secret is left out, in an error too.
    let bytes = match (sent, secret) {
        (Err(SendError::LineTooLong { .. }), Some(_)) => {
            return Err(ToolError::new(
                "limit_reached",
                "secret: with `input` the line is longer than the terminal hands over: send `input` apart. Nothing was sent",
            ));
        }
        (sent, secret) => sent? - secret.map_or(0, |secret| secret.value().len()),
    };
    let before = driver.session().anchor_seq(awaitty_core::Since::Input);
    Ok(Sent { bytes, before, is_hidden_line })
}

/// Sends to a session; a person may be at it.
fn send_to(
    context: &Context,
    entry: &Entry,
    driver: &mut Driver,
    items: &[Item],
) -> Result<Sent, ToolError> {
    let sent = send(context, driver, items)?;
    if sent.is_hidden_line {
        entry.people.note_typed();
    }
    Ok(sent)
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let signals = &context.sessions.signals;
    let wanted = params.wait.as_ref().map(|wait| wait.wanted(signals)).transpose()?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let show = if params.diff.unwrap_or(true) { Show::Diff } else { |_| Show::Screen };
    perform(&context, &entry, &params, wanted, show).await
}

/// Checks what can be checked before anything is sent.
pub(super) fn check(context: &Context, params: &Params) -> Result<(), ToolError> {
    // A secret that is not declared may be typed by a person.
    let sessions = &context.sessions;
    let is_asked = params.secret.as_ref().is_some_and(|name| sessions.secret(name).is_none());
    if params.submit && (params.input.is_none() || !params.keys.is_empty()) {
        return Err(submits_input());
    }
    if is_asked { Ok(()) } else { items(sessions, params).map(drop) }
}

/// Sends the input to a session, and waits. `show` says how the screen is shown, given the frame before the input.
pub(super) async fn perform(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    wanted: Option<Wanted>,
    show: fn(Seq) -> Show,
) -> Answer<Output> {
    // Whoever types by way of a person is not in their way.
    if params.secret.is_none() {
        ensure_not_controlled(context, entry).await?;
    }
    ensure_writable(context, entry, params.force, params.leave_copy_mode).await?;
    if let Some(name) = &params.secret
        && context.sessions.secret(name).is_none()
        && (entry.people.is_typed(name) || entry.people.is_anybody_there().await)
    {
        return ask_person(context, entry, params, name, wanted, show).await;
    }
    let items = items(&context.sessions, params)?;
    if params.secret.is_some() {
        wait_for_reader(entry).await?;
    }
    if params.submit {
        return run_submit(context, entry, params, wanted, show).await;
    }
    let (at, of_call) = (Arc::clone(entry), context.clone());
    let Some(wanted) = wanted else {
        let sent = entry.handle.call(move |driver| {
            let sent = send_to(&of_call, &at, driver, &items)?;
            let frame = Arc::clone(driver.session().frame());
            let mut output = WaitOutput::at(&frame);
            output.state = StateOutput::of_control(driver);
            let words = format!("sent {} bytes{}", sent.bytes, output.state.words());
            if let Show::Screen = show(sent.before) {
                show_frame(driver, &frame, Show::Screen, &mut output);
            }
            Ok::<_, ToolError>((sent, (output, header(&at, &frame, &words))))
        });
        let (sent, waited) = sent.await.ok_or_else(ToolError::gone)??;
        return Ok(answer(entry, &sent, waited));
    };
    let send = move |driver: &mut Driver| {
        let sent = send_to(&of_call, &at, driver, &items)?;
        let show = show(sent.before);
        Ok((sent, show))
    };
    let (sent, waited) = act(context, entry, &wanted, send).await?;
    Ok(answer(entry, &sent, waited))
}

fn submits_input() -> ToolError {
    ToolError::argument(
        "submit: it types `input` and presses Enter: leave out keys and secret, and give input",
    )
}

pub(super) fn answer(
    entry: &Entry,
    sent: &Sent,
    (wait, text): (WaitOutput, String),
) -> (Output, String) {
    (Output { session_id: entry.id.clone(), sent_bytes: sent.bytes, submit: None, wait }, text)
}

/// Submits the input, and then waits if it was taken.
async fn run_submit(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    wanted: Option<Wanted>,
    show: fn(Seq) -> Show,
) -> Answer<Output> {
    let (Some(input), None, true) = (&params.input, &params.secret, params.keys.is_empty()) else {
        return Err(submits_input());
    };
    let (sent, submitted) = submit(context, entry, input).await?;
    let show = show(sent.before);
    let wanted = wanted.filter(|_| submitted == Submitted::Yes);
    let (mut wait, text) = then_wait(context, entry, wanted, show, submitted.word()).await?;
    let hint = submitted.hint();
    wait.hint = hint.map(str::to_owned).or(wait.hint);
    if submitted == Submitted::Closed {
        wait.closed = Some(true);
        wait.exit.exited = Some(true);
    }
    let text = match hint {
        Some(hint) => format!("{text}\n{hint}"),
        None => text,
    };
    let (mut output, text) = answer(entry, &sent, (wait, text));
    output.submit = Some(submitted.word());
    Ok((output, text))
}

/// Waits for what is wanted after something was sent, or says what the screen shows.
pub(super) async fn then_wait(
    context: &Context,
    entry: &Arc<Entry>,
    wanted: Option<Wanted>,
    show: Show,
    outcome: &'static str,
) -> Answer<WaitOutput> {
    match wanted {
        Some(wanted) => start(context, entry, &wanted, show).await,
        None => show_screen(entry, show, outcome).await,
    }
}
