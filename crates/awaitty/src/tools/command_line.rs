//! Command lines for which a shell would be needed: no shell sees them, so an operator would be an argument.

use awaitty_terminal::ToolError;

/// Stands for a character that is quoted and means nothing but itself.
const QUOTED: char = '\0';

/// Splits a command line by the quoting of POSIX shells.
///
/// # Errors
/// If a quote is not closed, or something in it is for a shell.
pub(super) fn split(line: &str) -> Result<Vec<String>, ToolError> {
    let words = shell_words::split(line).map_err(|error| {
        ToolError::argument(format!("command: {error} (an unclosed quote?) in {line:?}"))
    })?;
    match unquoted(line).iter().find_map(|word| operator(word)) {
        None => Ok(words),
        Some(operator) => Err(ToolError::argument(format!(
            "command: {operator} is an operator of a shell, and no shell is involved: call spawn with \
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

/// Returns the operator that a word is, or that stands in it where it cannot be meant as text.
fn operator(word: &str) -> Option<&str> {
    let is_of_digits = |c: char| c.is_ascii_digit() || c == '&';
    let redirection = word.trim_start_matches(is_of_digits);
    match word {
        "|" | "||" | "|&" | "&&" | ";" | ";;" => Some(word),
        _ if word.contains("$(") => Some("$("),
        _ if word.contains('`') => Some("`"),
        // `2>&1` and `>file`; but a version is `>=2`.
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
    fn operators_of_a_shell_are_refused_with_the_call_that_has_one() {
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
            let start = format!("command: {operator} is an operator of a shell");
            assert!(error.message.starts_with(&start) && error.message.contains(&call), "{error}");
        }
        assert!(split("echo \"a\" | cat").unwrap_err().message.contains(r#""echo \"a\" | cat""#));
    }

    #[test]
    fn what_is_quoted_or_means_no_operator_is_an_argument() {
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
