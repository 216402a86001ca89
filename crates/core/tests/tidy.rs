//! Tests of the rules for the source and the documents, see CONTRIBUTING.md.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum lines of code in a file. It leaves room for the tables of sequences.
const FILE_LINES_MAX: usize = 450;

/// Maximum lines of a function: one screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all files with an extension in a folder, except in folders of build output and recorded data.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
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
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let folder = path.parent().unwrap_or(Path::new("."));
            assert!(folder.join(target).exists(), "{}: {target}", path.display());
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
    for document in ["docs/faults.md", "docs/guarantees.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap_or_default();
        let quoted = text.split('`').skip(1).step_by(2);
        let mut names = quoted.filter_map(|word| word.rsplit(' ').next()).filter(|n| is_name(n));
        // Python checks build some names from a prefix and a suffix, such as `end_by_{how}`.
        let is_built = |name: &str| {
            let mut parts = name.match_indices('_').map(|(at, _)| name.split_at(at));
            parts.any(|(start, end)| {
                all.contains(&format!("\"{start}_{{")) || all.contains(&format!("}}{end}\""))
            })
        };
        let missing = names.find(|name| !all.contains(*name) && !is_built(name));
        assert_eq!(missing, None, "{document} names a test that does not exist");
    }
}
