//! Compares the code blocks of docs/testing.md with the files that they are copied from.

use std::fs;
use std::path::Path;

/// A code block of the document.
struct Block {
    /// The number of its first line.
    line: usize,
    language: String,
    /// The file that it is copied from, from the comment above it.
    source: Option<String>,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let (mut source, mut open): (Option<String>, Option<Block>) = (None, None);
    for (index, line) in document.lines().enumerate() {
        match (open.take(), line.strip_prefix("```")) {
            (Some(block), Some(_)) => found.push(block),
            (Some(mut block), None) => {
                block.text += line;
                block.text += "\n";
                open = Some(block);
            }
            (None, Some(language)) => {
                let (language, source) = (language.to_owned(), source.take());
                open = Some(Block { line: index + 1, language, source, text: String::new() });
            }
            (None, None) => {
                let comment = line.strip_prefix("<!-- from ");
                source = comment.and_then(|rest| rest.strip_suffix(" -->")).map(str::to_owned);
            }
        }
    }
    found
}

/// Commands for a shell are not in a file. All other blocks are.
#[test]
fn code_blocks_are_copied_from_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/testing.md")).unwrap_or_default();
    let blocks = blocks(&document);
    assert!(blocks.len() > 8, "{} blocks", blocks.len());
    for Block { line, language, source, text } in blocks {
        let Some(source) = source else {
            assert_eq!(language, "sh", "docs/testing.md:{line}: the block names no file");
            continue;
        };
        let file = fs::read_to_string(root.join(&source)).unwrap_or_default();
        assert!(
            !text.is_empty() && file.contains(&text),
            "docs/testing.md:{line}: {source} differs:\n{text}"
        );
    }
}
