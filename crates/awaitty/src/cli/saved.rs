//! Files that the command line writes itself, with the rights and in the folder of whoever calls it, and not the server.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf, absolute};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{exit, print, status, write};
use crate::client::Client;
use crate::record::{self, Format};

/// Asks for a picture and writes it to a file, or to standard output if that is none that a person looks at.
pub(super) fn picture(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let path = take_path(&mut arguments)?;
    if path.is_none() && !as_json && io::stdout().is_terminal() {
        crate::log(
            "a picture is nothing for a terminal: give --path FILE, or send it on by a pipe",
        );
        return Ok(exit::USAGE);
    }
    if arguments["format"].is_null()
        && path.as_deref().and_then(Path::extension).is_some_and(|ending| ending == "svg")
    {
        arguments["format"] = json!("svg");
    }
    if let Some(font) = arguments["font"].as_str() {
        arguments["font"] = json!(absolute(font)?);
    }
    let mut answered = client.call("screenshot", &arguments, &mut |_| {})?;
    let Some(image) = answered.image.take() else {
        print(&answered, as_json)?;
        return Ok(status(&answered));
    };
    match &path {
        Some(path) => {
            let mut file = create(path, is_forced)?;
            file.write_all(&image)?;
            answered.structured["path"] = json!(path);
            answered.text += &format!(" in {}", path.display());
            print(&answered, as_json)?;
        }
        None if as_json => {
            answered.structured["data"] = json!(BASE64_STANDARD.encode(&image));
            print(&answered, true)?;
        }
        None => write(&image)?,
    }
    Ok(exit::MET)
}

/// Has a recording told of, and makes a file of it.
pub(super) fn recording(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let path = take_path(&mut arguments)?;
    let version = arguments["version"].as_u64().and_then(|version| u8::try_from(version).ok());
    let format = Format::choose(arguments["format"].as_str(), version, path.as_deref());
    if let Ok(format) = format {
        arguments["format"] = json!(format.name());
    }
    let mut answered = client.call("save_recording", &arguments, &mut |_| {})?;
    if let (false, Some(path), Ok(format)) = (answered.is_error, &path, format) {
        let recorded = answered.structured["recording"].as_str().unwrap_or_default();
        let recorded = BufReader::new(File::open(recorded)?);
        // The server has made the same, without a file, so a recording that is too long was refused before.
        let mut file = BufWriter::new(create(path, is_forced)?);
        let saved = record::export(recorded, format, &mut file)?;
        file.flush()?;
        answered.structured["path"] = json!(path);
        answered.text = format!("{} bytes in {}", saved.bytes, path.display());
        if let Some(note) = answered.structured["note"].as_str() {
            answered.text += &format!("; the recording ended early: {note}");
        }
    }
    print(&answered, as_json)?;
    Ok(status(&answered))
}

/// Takes the path out of what the server is asked for.
fn take_path(arguments: &mut Value) -> io::Result<Option<PathBuf>> {
    let given = arguments.as_object_mut().and_then(|all| all.remove("path"));
    given.as_ref().and_then(Value::as_str).map(absolute).transpose()
}

/// Opens a file to be written; one that is there only if that is asked for. A new one is for its owner alone: a screen may
/// show what others are not to see.
fn create(path: &Path, is_forced: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).mode(0o600);
    match is_forced {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::other(format!("{} is there already: --force writes over it", path.display()))
        }
        _ => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    })
}
