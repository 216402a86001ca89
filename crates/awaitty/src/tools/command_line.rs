//! Splits command lines and rejects shell operators: no shell runs the command, so an operator would be an argument.

use awaitty_terminal::ToolError;

/// The placeholder for a quoted character.
const QUOTED: char = '\0';

/// Splits a command line by the quoting rules of POSIX shells.
///
/// # Errors
/// If a quote is not closed, or the line has a shell operator.
pub(super) fn split(line: &str) -> Result<Vec<String>, ToolError> {
    let words = shell_words::split(line).map_err(|error| {
        ToolError::argument(format!("command: {error} in {line:?}: close it, or give args"))
    })?;
    match unquoted(line).iter().find_map(|word| operator(word)) {
        None => Ok(words),
        Some(operator) => Err(ToolError::argument(format!(
            "command: {operator} is a shell operator, but no shell runs the command: call spawn with \
             {{\"command\": \"sh\", \"args\": [\"-c\", {}]}}, or quote {operator} if it is an argument",
            serde_json::Value::from(line)
        ))),
    }
}

/// Returns the words of a command line with a placeholder for each quoted character.
fn unquoted(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut chars = line.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.push(QUOTED);
            }
            (None | Some('"'), '\\') => {
                chars.next();
                word.push(QUOTED);
            }
            (Some(_), _) => word.push(QUOTED),
            (None, '#') if word.is_empty() => {
                chars.by_ref().find(|&c| c == '\n');
            }
            (None, ' ' | '\t' | '\n') => words.push(std::mem::take(&mut word)),
            (None, _) => word.push(c),
        }
    }
    words.push(word);
    words
}

/// Returns the operator in a word, if it cannot be plain text.
fn operator(word: &str) -> Option<&str> {
    let is_fd = |c: char| c.is_ascii_digit() || c == '&';
    let redirection = word.trim_start_matches(is_fd);
    match word {
        "|" | "||" | "|&" | "&&" | ";" | ";;" => Some(word),
        _ if word.contains("$(") => Some("$("),
        _ if word.contains('`') => Some("`"),
        // `2>&1` and `>file`, but not a version like `>=2`.
        _ if redirection.starts_with(['<', '>']) && !redirection[1..].starts_with('=') => {
            let until = redirection.trim_start_matches(['<', '>']).len();
            Some(&word[..word.len() - until])
        }
        _ if word.ends_with(';') => Some(";"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_shell_operators_name_the_call_with_a_shell() {
        for (line, operator) in [
            ("ls | wc", "|"),
            ("make && ./run", "&&"),
            ("a || b", "||"),
            ("echo hi > file", ">"),
            ("echo hi >> file", ">>"),
            ("wc < file", "<"),
            ("make 2>&1", "2>"),
            ("make >log", ">"),
            ("a ; b", ";"),
            ("cd x; make", ";"),
            ("echo $(date)", "$("),
            ("echo `date`", "`"),
            ("grep '|' f | wc", "|"),
        ] {
            let error = split(line).unwrap_err();
            assert_eq!(error.code, "bad_argument");
            let call = format!("{{\"command\": \"sh\", \"args\": [\"-c\", \"{line}\"]}}");
            let start = format!("command: {operator} is a shell operator");
            assert!(error.message.starts_with(&start) && error.message.contains(&call), "{error}");
        }
        assert!(split("echo \"a\" | cat").unwrap_err().message.contains(r#""echo \"a\" | cat""#));
    }

    #[test]
    fn quoted_operators_and_plain_text_are_arguments() {
        for (line, words) in [
            ("grep '|' f", &["grep", "|", "f"][..]),
            ("grep \"a && b\" f", &["grep", "a && b", "f"]),
            (r"find . -exec rm {} \;", &["find", ".", "-exec", "rm", "{}", ";"]),
            (r"echo \> x", &["echo", ">", "x"]),
            ("echo '$(date)' '`x`'", &["echo", "$(date)", "`x`"]),
            ("sh -c 'ls | wc; ls > x'", &["sh", "-c", "ls | wc; ls > x"]),
            ("grep a|b f", &["grep", "a|b", "f"]),
            ("pip install x >=2", &["pip", "install", "x", ">=2"]),
            ("curl http://a/?b=1&c=2", &["curl", "http://a/?b=1&c=2"]),
            ("echo 2 $x -> &", &["echo", "2", "$x", "->", "&"]),
            ("ls # a | b", &["ls"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
    }
}
