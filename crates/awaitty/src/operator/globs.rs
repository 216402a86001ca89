//! Lists of glob patterns.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use globset::{GlobBuilder, GlobMatcher};

/// Characters of a pattern: the maximum length of a path (PATH_MAX).
const GLOB_CHARS_MAX: usize = 4096;

/// Patterns in a list.
pub(super) const GLOBS_MAX: usize = 1_000;

/// A list of patterns, with their original texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs {
    globs: Vec<Glob>,
}

#[derive(Clone, Debug)]
pub(super) struct Glob {
    text: String,
    /// For a path, includes a matcher with symbolic links resolved.
    matchers: Vec<GlobMatcher>,
}

impl Globs {
    /// Compiles patterns for names. `*` matches any characters.
    pub(super) fn of_names(texts: Vec<String>) -> anyhow::Result<Globs> {
        Globs::compile(texts, |text| Ok(vec![matcher(text, false)?]))
    }

    /// Compiles patterns for absolute paths, in which `*` matches within a directory and `**` across directories.
    pub(super) fn of_paths(texts: Vec<String>) -> anyhow::Result<Globs> {
        Globs::compile(texts, path_matchers)
    }

    /// Compiles patterns for programs: those with a slash match paths, others match names.
    pub(super) fn of_programs(texts: Vec<String>) -> anyhow::Result<Globs> {
        Globs::compile(texts, |text| match text.contains('/') {
            true => path_matchers(text),
            false => Ok(vec![matcher(text, false)?]),
        })
    }

    fn compile(
        texts: Vec<String>,
        matchers: impl Fn(&str) -> anyhow::Result<Vec<GlobMatcher>>,
    ) -> anyhow::Result<Globs> {
        ensure!(
            texts.len() <= GLOBS_MAX,
            "it has {} patterns, which is more than {GLOBS_MAX}",
            texts.len()
        );
        let compile = |text: String| {
            ensure!(!text.is_empty(), "a pattern is empty");
            ensure!(
                text.len() <= GLOB_CHARS_MAX,
                "a pattern has {} characters, which is more than {GLOB_CHARS_MAX}",
                text.len()
            );
            let matchers = matchers(&text).with_context(|| format!("pattern {text:?}"))?;
            Ok(Glob { text, matchers })
        };
        Ok(Globs { globs: texts.into_iter().map(compile).collect::<anyhow::Result<_>>()? })
    }

    /// Returns the first pattern that matches one of the names or paths.
    pub(super) fn find<N: AsRef<Path>>(&self, names: &[N]) -> Option<&Glob> {
        self.globs.iter().find(|glob| names.iter().any(|name| glob.matches(name)))
    }

    pub(super) fn matches<N: AsRef<Path>>(&self, names: &[N]) -> bool {
        self.find(names).is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Glob> {
        self.globs.iter()
    }

    /// Returns the original texts of the patterns for an error message.
    pub(super) fn describe(&self) -> String {
        match self.globs.is_empty() {
            true => "none".to_owned(),
            false => {
                self.globs.iter().map(|glob| glob.text.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl Glob {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_path(&self) -> bool {
        self.text.contains('/')
    }

    pub(super) fn matches(&self, name: impl AsRef<Path>) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(name.as_ref()))
    }
}

fn matcher(text: &str, is_path: bool) -> anyhow::Result<GlobMatcher> {
    let glob = GlobBuilder::new(text).literal_separator(is_path).backslash_escape(true).build();
    Ok(glob.map_err(|error| anyhow::anyhow!("{}", error.kind()))?.compile_matcher())
}

/// Compiles a pattern for paths. Paths are compared with their symbolic links resolved, so the part of the pattern
/// before its first wildcard is resolved as well: `/bin/*` matches the files in `/usr/bin` if `/bin` is a link to it.
fn path_matchers(text: &str) -> anyhow::Result<Vec<GlobMatcher>> {
    let text = match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => {
            format!("{}/{rest}", globset::escape(home.to_str().unwrap_or_default()))
        }
        _ => text.to_owned(),
    };
    ensure!(text.starts_with('/'), "it is not an absolute path, such as /usr/bin/git or ~/src/**");
    let mut texts = vec![text.clone()];
    // A directory whose contents match matches as well.
    texts.extend(
        text.strip_suffix("/**").filter(|directory| !directory.is_empty()).map(str::to_owned),
    );
    let resolved: Vec<String> = texts.iter().filter_map(|text| resolved(text)).collect();
    texts.extend(resolved);
    texts.dedup();
    texts.iter().map(|text| matcher(text, true)).collect()
}

/// Returns a pattern with the links in its literal part resolved, if that part exists.
fn resolved(text: &str) -> Option<String> {
    let wildcard = text.find(['*', '?', '[', '{', '\\']);
    let literal = match wildcard {
        Some(at) => &text[..=text[..at].rfind('/')?],
        None => text,
    };
    let path: PathBuf = std::fs::canonicalize(literal).ok()?;
    let path = globset::escape(path.to_str()?);
    let rest = &text[literal.len()..];
    match wildcard {
        Some(_) => Some(format!("{}/{rest}", path.trim_end_matches('/'))),
        None => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_star_stays_within_a_directory_and_two_cross_directories() {
        let globs = Globs::of_paths(texts(&["/a/*.txt", "/b/**"])).unwrap();
        for (path, is_match) in [
            ("/a/x.txt", true),
            ("/a/b/x.txt", false),
            ("/b/x", true),
            ("/b/x/y", true),
            ("/b", true),
            ("/bc", false),
            ("/ab/x.txt", false),
        ] {
            assert_eq!(globs.matches(&[path]), is_match, "{path}");
        }
        let names = Globs::of_names(texts(&["web-*", "tmux:%*"])).unwrap();
        for (name, is_match) in
            [("web-1", true), ("web", false), ("tmux:%3", true), ("tmux:work/%3", false)]
        {
            assert_eq!(names.matches(&[name]), is_match, "{name}");
        }
    }

    #[test]
    fn the_literal_part_of_a_pattern_is_resolved() {
        let directory = std::env::temp_dir().join(format!("awaitty-globs-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("real")).unwrap();
        let _ = std::os::unix::fs::symlink("real", directory.join("link"));
        let real = directory.join("real").canonicalize().unwrap();
        for pattern in ["link/*", "link/**", "link/x"] {
            let _ = std::fs::write(real.join("x"), "");
            let text = directory.join(pattern).to_str().unwrap().to_owned();
            let globs = Globs::of_paths(vec![text]).unwrap();
            assert!(globs.matches(&[real.join("x")]), "{pattern}");
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn invalid_patterns_are_errors() {
        for text in ["", "[a", "bin/x", "./x", "../x"] {
            assert!(Globs::of_paths(texts(&[text])).is_err(), "{text:?}");
        }
        let long = format!("/{}", "x".repeat(GLOB_CHARS_MAX - 1));
        assert!(Globs::of_paths(vec![long.clone()]).is_ok());
        assert!(Globs::of_paths(vec![long + "x"]).is_err());
        assert!(Globs::of_names(vec!["x".to_owned(); GLOBS_MAX]).is_ok());
        assert!(Globs::of_names(vec!["x".to_owned(); GLOBS_MAX + 1]).is_err());
    }
}
