//! `awaitty screenshot`: the picture is written by the command line itself, with the rights and in the folder of whoever
//! calls it, and not by the server.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, absolute};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{exit, print, status, write};
use crate::client::Client;

/// Asks for a picture and writes it to a file, or to standard output if that is none that a person looks at.
pub(super) fn take(
    client: &mut Client,
    mut arguments: Value,
    is_forced: bool,
    as_json: bool,
) -> io::Result<i32> {
    let given = arguments.as_object_mut().and_then(|all| all.remove("path"));
    let path = given.as_ref().and_then(Value::as_str).map(absolute).transpose()?;
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

/// Opens a file to be written; one that is there only if that is asked for.
pub(super) fn create(path: &Path, is_forced: bool) -> io::Result<File> {
    let made = if is_forced { File::create(path) } else { File::create_new(path) };
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::other(format!("{} is there already: --force writes over it", path.display()))
        }
        _ => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    })
}
