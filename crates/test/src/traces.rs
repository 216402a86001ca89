//! When traces are written, and where.

use std::path::{Path, PathBuf};

/// The environment variable that sets the mode: `on`, `retain-on-failure` or `off`.
pub const MODE_VARIABLE: &str = "AWAITTY_TEST_TRACE";

/// The environment variable with the directory of the traces.
pub const DIRECTORY_VARIABLE: &str = "AWAITTY_TEST_TRACES";

/// When the trace of a test is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceMode {
    /// Always.
    On,
    /// If a step failed or the test panics.
    #[default]
    RetainOnFailure,
    /// Never. Nothing is recorded.
    Off,
}

impl TraceMode {
    /// Returns the mode with a name.
    pub fn of(name: &str) -> Option<TraceMode> {
        Some(match name {
            "on" => TraceMode::On,
            "retain-on-failure" => TraceMode::RetainOnFailure,
            "off" => TraceMode::Off,
            _ => return None,
        })
    }
}

/// Returns the directory of the traces: the given one, or `awaitty-traces` in cargo's target directory.
pub(crate) fn directory() -> PathBuf {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(directory) = given(DIRECTORY_VARIABLE) {
        return directory.into();
    }
    let target = given("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.or_else(|| target_of(&std::env::current_exe().ok()?));
    target.unwrap_or_else(std::env::temp_dir).join("awaitty-traces")
}

/// Returns the target directory that a program was built in. Cargo marks it as a cache.
fn target_of(program: &Path) -> Option<PathBuf> {
    let mut parents = program.ancestors().skip(1);
    parents.find(|parent| parent.join("CACHEDIR.TAG").is_file()).map(Path::to_owned)
}

/// Returns the file name of a trace: the test binary, the test, and the line that started the program, which differs if
/// one test starts several.
pub(crate) fn file_name(line: u32) -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(Path::file_stem).unwrap_or_default();
    let stem = stem.to_string_lossy();
    let name = format!("{}-{}-line-{line}", without_hash(&stem), test_name());
    name.replace(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c), "_") + ".html"
}

/// Returns the name of the test: that of its thread.
pub(crate) fn test_name() -> String {
    std::thread::current().name().unwrap_or("test").to_owned()
}

/// Removes the hash that cargo appends to the name of a test binary.
fn without_hash(stem: &str) -> &str {
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
            name
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names() {
        assert_eq!(TraceMode::of("on"), Some(TraceMode::On));
        assert_eq!(TraceMode::of("retain-on-failure"), Some(TraceMode::RetainOnFailure));
        assert_eq!(TraceMode::of("off"), Some(TraceMode::Off));
        assert_eq!(TraceMode::of("yes"), None);
    }

    #[test]
    fn a_trace_is_named_after_its_test() {
        assert_eq!(without_hash("api-0123456789abcdef"), "api");
        assert_eq!(without_hash("my-app"), "my-app");
        let name = file_name(42);
        assert!(
            name.ends_with("traces__tests__a_trace_is_named_after_its_test-line-42.html"),
            "{name}"
        );
        let target = target_of(&std::env::current_exe().unwrap()).unwrap();
        assert!(target.join("CACHEDIR.TAG").is_file());
    }
}
