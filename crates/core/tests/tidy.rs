//! Tests of the rules for the source and the documents, see CONTRIBUTING.md.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum lines of code in a file. It leaves room for the tables of sequences.
const FILE_LINES_MAX: usize = 450;

/// Maximum columns of a line of prose: two files fit beside each other on a wide screen.
const COLUMNS_MAX: usize = 120;

/// Maximum lines of a function: one screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all files with an extension in a directory, except in directories of build output and recorded data.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let skipped = ["target", ".git", "node_modules", "recorded"];
        if path.is_dir() && !skipped.contains(&name.to_string_lossy().as_ref()) {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns all Rust files with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = files(&root().join("crates"), "rs");
    found.extend(files(&root().join("benches"), "rs"));
    assert!(found.len() > 20, "the sources were found");
    found
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap_or_default()))
        .collect()
}

#[test]
fn cargo_run_starts_awaitty() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let members = manifest.lines().find(|line| line.starts_with("default-members"));
    let members = members.expect("the workspace has default members").split('"');
    let has_program = |member: &&str| root().join(member).join("src/main.rs").is_file();
    let programs: Vec<&str> = members.skip(1).step_by(2).filter(has_program).collect();
    assert_eq!(programs, ["crates/awaitty"]);
}

#[test]
fn every_file_has_a_header_comment() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{}", path.display());
    }
}

#[test]
fn files_and_functions_are_short() {
    for (path, text) in sources() {
        let is_test = path.components().any(|part| part.as_os_str() == "tests");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//")).count();
        assert!(is_test || lines <= FILE_LINES_MAX, "{} has {lines} lines of code", path.display());
        let mut started: Option<(usize, &str)> = None;
        for (number, line) in text.lines().enumerate() {
            let body = line.trim_start();
            let indent = line.len() - body.len();
            let is_function = [
                "fn ",
                "pub fn ",
                "pub(crate) fn ",
                "pub(super) fn ",
                "async fn ",
                "pub async fn ",
            ]
            .iter()
            .any(|start| body.starts_with(start));
            if is_function && indent <= 4 {
                started = Some((number, line));
            }
            if (line == "}" || line == "    }")
                && let Some((first, name)) =
                    started.take_if(|(_, name)| name.len() - name.trim_start().len() == indent)
            {
                let length = number - first + 1;
                assert!(
                    length <= FUNCTION_LINES_MAX,
                    "{}: {name} has {length} lines",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn comments_and_documents_have_at_most_120_columns() {
    let documents = files(&root(), "md").into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        (path, text)
    });
    for (path, text) in sources().into_iter().chain(documents) {
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        for (number, line) in text.lines().enumerate() {
            // Tables and links cannot be wrapped.
            let is_prose = if is_document {
                !line.starts_with(['|', '<']) && !line.contains("](")
            } else {
                line.trim_start().starts_with("//")
            };
            let columns = line.chars().count();
            assert!(
                !is_prose || columns <= COLUMNS_MAX,
                "{}:{} has {columns} columns",
                path.display(),
                number + 1
            );
        }
    }
}

#[test]
fn nothing_sleeps() {
    for (path, text) in sources() {
        if path.ends_with("tidy.rs") {
            continue;
        }
        assert!(!text.contains("sleep("), "{} sleeps", path.display());
    }
}

#[test]
fn the_core_uses_no_io_no_clock_and_no_serialization() {
    let words = [
        "tokio",
        "Instant::now",
        "SystemTime",
        "std::fs",
        "std::env",
        "std::net",
        "std::thread",
        "serde",
    ];
    for path in files(&root().join("crates/core/src"), "rs") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for word in words {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn links_in_documents_have_targets() {
    for path in files(&root(), "md") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let images = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let targets = links.chain(images);
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let directory = path.parent().unwrap_or(Path::new("."));
            assert!(directory.join(target).exists(), "{}: {target}", path.display());
        }
    }
}

#[test]
fn tests_named_in_documents_exist() {
    let crates = root().join("crates");
    let found = ["rs", "py", "mjs"].map(|extension| files(&crates, extension));
    let texts = found.iter().flatten().map(|path| fs::read_to_string(path).unwrap_or_default());
    let all: String = texts.collect();
    let is_name = |word: &str| {
        word.matches('_').count() >= 2
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let mut missing = Vec::new();
    for document in ["docs/faults.md", "docs/guarantees.md", "docs/waits.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap_or_default();
        let quoted = text.split('`').skip(1).step_by(2);
        let names = quoted.filter_map(|word| word.rsplit(' ').next()).filter(|n| is_name(n));
        // Python checks build some names from a prefix and a suffix, such as `end_by_{how}`.
        let is_built = |name: &str| {
            let mut parts = name.match_indices('_').map(|(at, _)| name.split_at(at));
            parts.any(|(start, end)| {
                all.contains(&format!("\"{start}_{{")) || all.contains(&format!("}}{end}\""))
            })
        };
        let unknown = names.filter(|name| !all.contains(*name) && !is_built(name));
        missing.extend(unknown.map(|name| format!("{document}: {name}")));
    }
    assert!(missing.is_empty(), "tests that do not exist: {missing:#?}");
}

/// Each rule of docs/waits.md names its tests.
#[test]
fn every_rule_of_waits_names_a_test() {
    let text = fs::read_to_string(root().join("docs/waits.md")).unwrap_or_default();
    let is_rule =
        |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let mut rule: Option<&str> = None;
    let mut rules = 0;
    for line in text.lines() {
        if is_rule(line) || line.starts_with("## ") {
            assert_eq!(rule, None, "no test is named");
            rule = is_rule(line).then_some(line);
            rules += usize::from(rule.is_some());
        } else if line.trim_start().starts_with("*Tests:*") {
            rule = None;
        }
    }
    assert!(rules > 40, "{rules} rules were found");
}

#[test]
fn only_the_platform_module_names_what_other_systems_lack() {
    let words = [
        "/proc/",
        "\"/proc\"",
        "pidfd",
        "PidFd",
        "memfd",
        "inotify",
        "openat2",
        "SYS_",
        "TIOCGPTPEER",
        "subreaper(",
        "dumpable",
        "peercred",
        "target_os",
        "os::linux",
    ];
    for (path, text) in sources() {
        let name = path.to_string_lossy();
        if !name.contains("/src/") || name.contains("/platform/") {
            continue;
        }
        // Tests may look at the kernel to check what the code did.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            let found = words.iter().find(|word| line.contains(**word));
            assert_eq!(
                found,
                None,
                "{name}:{} belongs to crates/terminal/src/platform",
                number + 1
            );
        }
    }
}

#[test]
fn only_the_pty_code_is_unsafe_and_each_use_says_why() {
    let allowed = ["terminal/src/io/pty.rs", "terminal/src/platform/linux/child.rs"];
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if path.ends_with("tidy.rs")
                || !["unsafe {", "unsafe impl", "unsafe fn"].iter().any(|word| code.contains(word))
            {
                continue;
            }
            let place = format!("{}:{}", path.display(), number + 1);
            assert!(allowed.iter().any(|file| path.ends_with(file)), "{place} is unsafe");
            let mut before = lines[..number].iter().rev().map(|line| line.trim_start());
            let has_reason = before
                .by_ref()
                .take_while(|line| line.starts_with("//"))
                .any(|line| line.starts_with("// SAFETY:"));
            assert!(has_reason, "{place} has no SAFETY line");
        }
    }
}

/// Two sets of terminals in one process must not affect each other, so the state of a process is an exception with a
/// reason.
#[test]
fn every_static_with_mutable_state_is_listed_in_the_architecture() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    let listed = architecture.split("## State of a process").nth(1).unwrap_or_default();
    let mutable =
        ["Mutex<", "Atomic", "OnceLock<", "OnceCell<", "LazyLock<", "RwLock<", "RefCell<"];
    for (path, text) in sources() {
        let name = path.to_string_lossy().into_owned();
        if !name.contains("/src/") || name.ends_with("tests.rs") {
            continue;
        }
        for line in text.lines().map(str::trim_start) {
            let mut words = line.split_whitespace();
            let declared = words.by_ref().take_while(|word| *word != "static").count() < 2
                && words.next().is_some_and(|word| {
                    word.trim_end_matches(':') == word.to_uppercase().trim_end_matches(':')
                });
            if !line.contains("static ") || !declared {
                continue;
            }
            assert!(!line.contains("static mut"), "{name}: {line}");
            if mutable.iter().any(|kind| line.contains(kind)) {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                assert!(listed.contains(&*file), "{name}: {line} is not listed in ARCHITECTURE.md");
            }
        }
    }
}

/// Words that hide what is meant, each with the reason or the word to use.
const BANNED: [(&str, &str); 43] = [
    ("whoever", "name the process, client or user"),
    ("whomever", "name the process, client or user"),
    ("nobody", "no process, no client, no user; the user name is written \"nobody\""),
    ("somebody", "a process, a client, a user"),
    ("everybody", "all of which kind"),
    ("hears", "a process receives, reads or is notified"),
    ("heard", "received, read, notified"),
    ("is told", "gets, receives, is notified"),
    ("are told", "get, receive, are notified"),
    ("was told", "got, received, was notified"),
    ("told of", "notified of"),
    ("bytes of chance", "random bytes"),
    ("beginning of time", "default"),
    ("gives way", "is replaced, yields"),
    ("give way", "be replaced, yield"),
    ("speaks of", "describes"),
    ("as good as", "equal to"),
    ("becomes of", "happens to"),
    ("look around", "scan"),
    ("lets go", "detaches, closes"),
    ("let it go", "detach, close"),
    ("goes away", "disconnects, exits"),
    ("went away", "disconnected, exited"),
    ("to its liking", "name the setting"),
    ("in no one's way", "does not block"),
    ("the program's number", "PID"),
    ("tells whether", "returns whether"),
    ("tells how", "returns"),
    ("says how many", "returns the number of"),
    ("as it is meant", "state the meaning"),
    ("who asks", "the caller, the client"),
    ("for ever", "without end, until"),
    ("mended", "fixed"),
    ("typable", "writable"),
    ("at its word", "state the check"),
    ("behind its back", "concurrently"),
    ("stranger", "another user, another process"),
    ("come what may", "state the cases"),
    ("if it likes", "at any time"),
    ("nothing is said", "by default"),
    ("a moment ago", "state the time"),
    ("sits there", "is idle"),
    ("is up to", "depends on, does"),
];

#[test]
fn text_is_plain_technical_english() {
    let mut found = Vec::new();
    let mut texts: Vec<PathBuf> = Vec::new();
    for directory in ["crates", "benches", "scripts", "docs"] {
        for extension in ["rs", "py", "md", "mjs", "js", "toml"] {
            texts.extend(files(&root().join(directory), extension));
        }
    }
    texts.extend(
        fs::read_dir(root().join("scripts")).into_iter().flatten().flatten().map(|f| f.path()),
    );
    texts.extend(fs::read_dir(root()).into_iter().flatten().flatten().map(|f| f.path()));
    for path in texts {
        // CONTRIBUTING.md quotes bad examples.
        let skipped = ["tidy.rs", "CONTRIBUTING.md", "xterm.js"];
        if !path.is_file() || skipped.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            // The name of a user, and the author of a manual page.
            let line = line.replace("user \"nobody\"", "").replace("user nobody", "");
            let line = line.to_lowercase().replace('_', " ");
            let words = |banned: &str| {
                line.match_indices(banned).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    let after = line[at + banned.len()..].chars().next();
                    ![before, after].into_iter().flatten().any(char::is_alphanumeric)
                })
            };
            for (banned, instead) in BANNED.iter().filter(|(banned, _)| words(banned)) {
                let place = format!("{}:{}", path.display(), number + 1);
                found.push(format!("{place}: {banned:?}; instead: {instead}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Names of types and functions that hide what the thing is.
const BANNED_NAMES: [&str; 30] = [
    "Past",
    "Had",
    "Shown",
    "Begun",
    "Looks",
    "Watch",
    "Standing",
    "Glance",
    "Flashes",
    "heal",
    "aside",
    "Wanted",
    "Asked",
    "Faces",
    "Door",
    "Guests",
    "Open",
    "Made",
    "typable",
    "look_around",
    "ReadEnd",
    "EchoBy",
    "Image",
    "Answer",
    "Manager",
    "Helper",
    "Util",
    "Utils",
    "Service",
    "Impl",
];

#[test]
fn names_say_what_a_thing_is() {
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').peekable();
            while let Some(word) = words.next() {
                let declares = ["struct", "enum", "trait", "type", "fn", "mod"].contains(&word);
                let name = words.peek().filter(|name| declares && BANNED_NAMES.contains(name));
                assert_eq!(name, None, "{}:{}", path.display(), number + 1);
            }
        }
    }
}
