//! Writes screenshots, recordings, traces and tests to files of the caller, with the permissions and in the working
//! directory of the caller instead of the server.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf, absolute};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{exit, print, status, write};
use crate::client::Client;
use crate::export::Target;
use crate::record::{self, Format};

/// Takes a screenshot, and writes it to a file or to standard output, unless that is a terminal.
pub(super) fn picture(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let path = take_path(&mut arguments)?;
    if path.is_none() && !as_json && io::stdout().is_terminal() {
        crate::log(
            "an image cannot be printed to a terminal: give --path FILE, or redirect standard output",
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
    let mut result = client.call("screenshot", &arguments, &mut |_| {})?;
    let Some(image) = result.image.take() else {
        print(&result, as_json)?;
        return Ok(status(&result));
    };
    match &path {
        Some(path) => {
            let mut file = create(path, is_forced)?;
            file.write_all(&image)?;
            result.structured["path"] = json!(path);
            result.text += &format!(" in {}", path.display());
            print(&result, as_json)?;
        }
        None if as_json => {
            result.structured["data"] = json!(BASE64_STANDARD.encode(&image));
            print(&result, true)?;
        }
        None => write(&image)?,
    }
    Ok(exit::MET)
}

/// Exports a recording to a file.
pub(super) fn recording(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let path = take_path(&mut arguments)?;
    if record::is_trace(arguments["format"].as_str(), path.as_deref()) {
        arguments["format"] = json!("trace");
        return trace(client, &arguments, path, is_forced, as_json);
    }
    let version = arguments["version"].as_u64().and_then(|version| u8::try_from(version).ok());
    let format = Format::choose(arguments["format"].as_str(), version, path.as_deref());
    if let Ok(format) = format {
        arguments["format"] = json!(format.name());
    }
    let mut result = client.call("save_recording", &arguments, &mut |_| {})?;
    if let (false, Some(path), Ok(format)) = (result.is_error, &path, format) {
        let recorded = result.structured["recording"].as_str().unwrap_or_default();
        let recorded = BufReader::new(File::open(recorded)?);
        // The server has exported it without a file and reported a recording that is too long for the format.
        let mut file = BufWriter::new(create(path, is_forced)?);
        let saved = record::export(recorded, format, &mut file)?;
        file.flush()?;
        result.structured["path"] = json!(path);
        result.text = format!("{} bytes in {}", saved.bytes, path.display());
        if let Some(note) = result.structured["note"].as_str() {
            result.text += &format!("; the recording ended early: {note}");
        }
    }
    print(&result, as_json)?;
    Ok(status(&result))
}

/// Copies the trace, which the server writes beside the recording, to a file.
fn trace(
    client: &mut Client,
    arguments: &Value,
    path: Option<PathBuf>,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let mut result = client.call("save_recording", arguments, &mut |_| {})?;
    if let (false, Some(path)) = (result.is_error, path) {
        let page = result.structured["path"].as_str().unwrap_or_default();
        let bytes = io::copy(&mut File::open(page)?, &mut create(&path, is_forced)?)?;
        result.structured["path"] = json!(path);
        result.text = format!("{bytes} bytes in {}", path.display());
    }
    print(&result, as_json)?;
    Ok(status(&result))
}

/// Writes a session as a test, to a file or to standard output.
pub(super) fn test(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let path = take_path(&mut arguments)?;
    if let Ok(target) = Target::choose(arguments["as"].as_str(), path.as_deref()) {
        arguments["as"] = json!(target.name());
    }
    arguments["whole"] = json!(true);
    let mut result = client.call("export_session", &arguments, &mut |_| {})?;
    let Some(test) = result.structured["test"].as_str().map(str::to_owned) else {
        print(&result, as_json)?;
        return Ok(status(&result));
    };
    match &path {
        Some(path) => {
            create(path, is_forced)?.write_all(test.as_bytes())?;
            if let Some(fields) = result.structured.as_object_mut() {
                fields.remove("test");
            }
            result.structured["path"] = json!(path);
            let steps = &result.structured["steps"];
            result.text = format!("{steps} steps in {}", path.display());
            print(&result, as_json)?;
        }
        None if as_json => print(&result, true)?,
        None => write(test.as_bytes())?,
    }
    Ok(exit::MET)
}

/// Removes the path from the server's arguments and makes it absolute.
fn take_path(arguments: &mut Value) -> io::Result<Option<PathBuf>> {
    let given = arguments.as_object_mut().and_then(|all| all.remove("path"));
    given.as_ref().and_then(Value::as_str).map(absolute).transpose()
}

/// Opens a file for writing; an existing one only with `--force`. A new file is private, since a screen may show
/// secrets.
fn create(path: &Path, is_forced: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).mode(0o600);
    match is_forced {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::other(format!("{} already exists: --force overwrites it", path.display()))
        }
        _ => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    })
}
