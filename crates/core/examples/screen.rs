//! Reads bytes from standard input and writes the screen after them as one JSON object to standard output:
//! `screen [--cols C] [--rows R] [--chunk byte|random:SEED]`. The corpus checker runs it.

use std::error::Error;
use std::io::{Read, Write};

use awaitty_core::Screen;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut cols, mut rows, mut chunk) = (80, 24, "all".to_owned());
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--cols" => cols = value.parse()?,
            "--rows" => rows = value.parse()?,
            "--chunk" => chunk = value,
            _ => return Err(format!("{flag} is not known: --cols, --rows or --chunk").into()),
        }
    }
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut screen = Screen::new(cols, rows, 1000);
    // Some cases of the corpus query checksums.
    screen.set_answers_checksums(true);
    let mut seed: u64 = match chunk.strip_prefix("random:") {
        Some(seed) => seed.parse()?,
        None => 0,
    };
    let mut rest = &input[..];
    while !rest.is_empty() {
        let len = match chunk.as_str() {
            "all" => rest.len(),
            "byte" => 1,
            _ => {
                // A linear congruential generator is random enough for chunk sizes.
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1 + (seed >> 33) as usize % 40
            }
        };
        let (now, later) = rest.split_at(len.min(rest.len()));
        screen.feed(now);
        rest = later;
    }
    let rows: Vec<String> =
        (0..screen.rows()).map(|row| json_string(screen.row(row).text())).collect();
    let cursor = screen.cursor();
    let replies = base64(&screen.take_replies());
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{{\"rows\": [{}], \"cursor\": [{}, {}], \"replies_b64\": \"{replies}\"}}",
        rows.join(", "),
        cursor.row,
        cursor.col,
    )?;
    Ok(())
}

fn json_string(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => json.push_str(&format!("\\u{:04x}", c as u32)),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, i| word << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
