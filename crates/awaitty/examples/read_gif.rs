//! Decodes GIFs, and prints their size, the number of frames and the duration: `read_gif FILE.gif…`.

use std::fs::File;
use std::io::{self, BufReader, Write};

fn main() -> io::Result<()> {
    for path in std::env::args().skip(1) {
        let file = BufReader::new(File::open(&path)?);
        let wrong = |error: gif::DecodingError| io::Error::other(format!("{path}: {error}"));
        let mut decoder = gif::Decoder::new(file).map_err(wrong)?;
        let (mut frames, mut hundredths) = (0, 0);
        while let Some(frame) = decoder.read_next_frame().map_err(wrong)? {
            frames += 1;
            hundredths += u32::from(frame.delay);
        }
        let (width, height) = (decoder.width(), decoder.height());
        let seconds = f64::from(hundredths) / 100.0;
        writeln!(io::stdout(), "{path}\t{width}x{height}\t{frames}\t{seconds:.2}")?;
    }
    Ok(())
}
