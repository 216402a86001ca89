//! Suggests what a wrong word was meant to be.

use super::keys;

/// Commands that are not keys.
pub(super) const COMMANDS: [&str; 21] = [
    "Output",
    "Require",
    "Set",
    "Env",
    "Type",
    "ScrollUp",
    "ScrollDown",
    "Sleep",
    "Wait",
    "Hide",
    "Show",
    "Screenshot",
    "Copy",
    "Paste",
    "Source",
    "Expect",
    "Settle",
    "Run",
    "Screen",
    "Click",
    "Resize",
];

/// Words of other tools and shells, with what a tape has for them.
const ALIASES: [(&str, &str); 28] = [
    ("Assert", "Expect /…/"),
    ("Control", "Ctrl+…"),
    ("Del", "Delete"),
    ("Echo", "Type \"…\""),
    ("Esc", "Escape"),
    ("Exec", "Run \"…\""),
    ("Exit", "Expect Exit 0"),
    ("Frame", "Expect Frame /…/"),
    ("Gone", "Expect Gone /…/"),
    ("Import", "Source other.tape"),
    ("Include", "Source other.tape"),
    ("Ins", "Insert"),
    ("Key", "Enter` or `Ctrl+C"),
    ("Keys", "Enter` or `Ctrl+C"),
    ("Line", "Wait+Line /…/"),
    ("Mask", "Screen \"…\" Mask /…/"),
    ("Option", "Alt+…"),
    ("Pause", "Sleep 1s"),
    ("PgDn", "PageDown"),
    ("PgUp", "PageUp"),
    ("Press", "Enter` or `Ctrl+C"),
    ("Return", "Enter"),
    ("Send", "Type \"…\"` and `Enter"),
    ("Selected", "Expect Selected /…/"),
    ("Snapshot", "Screen \"…\""),
    ("Spawn", "Set Shell \"…\""),
    ("Title", "Expect Title /…/"),
    ("Write", "Type \"…\""),
];

/// Returns whether a word starts a command.
pub(super) fn is_command(word: &str) -> bool {
    COMMANDS.contains(&word) || keys::MODIFIERS.contains(&word) || keys::named(word).is_some()
}

/// Returns whether a word is a command but for its case.
pub(super) fn is_command_in_other_case(word: &str) -> bool {
    let keys = keys::NAMED.iter().map(|(name, _)| *name);
    COMMANDS.into_iter().chain(keys).any(|name| name.eq_ignore_ascii_case(word))
}

/// Returns what an unknown command was meant to be.
pub(super) fn command(word: &str) -> Option<String> {
    if let Some((_, instead)) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(word)) {
        return Some(format!("write `{instead}`"));
    }
    if let Some(keys) = function_keys(word) {
        return Some(keys);
    }
    if super::settings::NAMES.contains(&word) {
        return Some(format!("write `Set {word} …`"));
    }
    let keys = keys::NAMED.iter().map(|(name, _)| *name);
    nearest(word, COMMANDS.into_iter().chain(keys::MODIFIERS).chain(keys))
}

/// Returns a text with all commands.
pub(super) fn all_commands() -> String {
    let (names, modifiers) = (COMMANDS.join(", "), keys::MODIFIERS.join(", "));
    format!("the commands are {names}, {modifiers} and the keys")
}

/// Returns a text with all keys of a combination.
pub(super) fn all_keys() -> String {
    let names: Vec<&str> = keys::NAMED.iter().map(|(name, _)| *name).collect();
    format!("a combination ends with one character, or one of {}, F1 to F24", names.join(", "))
}

/// Returns which function keys there are, if a word is the name of another one.
fn function_keys(word: &str) -> Option<String> {
    let digits = word.strip_prefix('F').filter(|digits| !digits.is_empty())?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| format!("the function keys are F1 to F{}", keys::FUNCTION_MAX))
}

/// Returns the similar name of a key.
pub(super) fn key(word: &str) -> Option<String> {
    if let Some(keys) = function_keys(word) {
        return Some(keys);
    }
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(word));
    match alias.and_then(|(_, instead)| keys::named(instead)) {
        Some(key) => Some(format!("did you mean `{key}`?")),
        None => nearest(word, keys::NAMED.iter().map(|(name, _)| *name).chain(keys::MODIFIERS)),
    }
}

/// Returns a question with the most similar of several names, or `None` if none is similar.
pub(super) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let lower: String = word.chars().take(WORD_MAX).collect::<String>().to_ascii_lowercase();
    // One change in every three letters: enough for a slip, too little to turn one word into another.
    let allowed = lower.chars().count() / 3;
    let distance = |name: &str| strsim::osa_distance(&lower, &name.to_ascii_lowercase());
    let found = names.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance);
    let (_, name) = found.filter(|(distance, _)| *distance <= allowed)?;
    Some(format!("did you mean `{name}`?"))
}

/// Maximum characters of a word that are compared: twice the longest name.
const WORD_MAX: usize = 32;
