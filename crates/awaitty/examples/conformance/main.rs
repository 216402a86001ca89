//! A server with what the official conformance suite asks for, over the HTTP of the product: who may ask, how many and
//! what takes long are looked after by the same code. `scripts/conformance` runs the suite against it.

mod asking;
mod fixtures;
mod handler;

use std::sync::Arc;

use awaitty::{cli, http};
use clap::Parser;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use handler::{Client, Shared};

/// Serves the fixtures of the conformance suite, and says on standard output where it listens, as JSON.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    network: http::Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let shared = Arc::new(Shared::new()?);
    let listener = http::Listener::bind(&Args::parse().network).await?;
    let url = listener.url();
    let told = json!({"url": url, "mcp": format!("{url}/mcp")});
    cli::write(format!("{told}\n").as_bytes())?;
    // It serves until it is killed.
    let make = move |_caller: awaitty::access::Caller| Client::new(&shared);
    listener.serve(make, CancellationToken::new()).await;
    Ok(())
}
