//! A server with the fixtures of the official conformance suite behind the HTTP server of the product, so that
//! authentication, limits and slow responses are tested too. `scripts/conformance` runs the suite against it.

mod elicitation;
mod fixtures;
mod handler;

use std::sync::Arc;

use awaitty::{cli, http};
use clap::Parser;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use handler::{Client, Shared};

/// Serves the fixtures of the conformance suite. Prints its URL as JSON.
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
    let info = json!({"url": url, "mcp": format!("{url}/mcp")});
    cli::write(format!("{info}\n").as_bytes())?;
    // Serves until the process is killed.
    let make = move |_caller: awaitty::access::Caller| Client::new(&shared);
    listener.serve(make, CancellationToken::new()).await;
    Ok(())
}
