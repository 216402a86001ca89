//! Serves a host: on standard input and output or over HTTP, and always on a socket for the programs in its terminals.
//! Ends all programs when serving ends.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http;
use crate::mcp::{Host, Options};
use crate::socket::{self, Clients, Listener};

/// Starts the socket by which programs in the terminals signal channels. Everything else works without it.
fn listen(host: &Arc<Host>, ended: &CancellationToken) -> Option<JoinHandle<()>> {
    match socket::program_path().and_then(Listener::bind) {
        Ok(listener) => {
            host.sessions.set_socket(listener.path());
            let serving = listener.serve(Arc::clone(host), Clients::Programs, ended.clone());
            Some(tokio::spawn(serving))
        }
        Err(error) => {
            crate::log(&format!("no socket, so `awaitty signal` will not work: {error}"));
            None
        }
    }
}

/// Runs `serving` with a socket for programs, then ends all programs.
async fn serve_until<T>(
    host: Arc<Host>,
    ended: CancellationToken,
    serving: impl Future<Output = T>,
) -> T {
    let listening = listen(&host, &ended);
    let served = serving.await;
    ended.cancel();
    host.shut_down().await;
    if let Some(listening) = listening {
        // It removes the socket file.
        let _ = listening.await;
    }
    served
}

/// Serves standard input and output, and the listener if there is one, until EOF or `ended`. Then ends all programs.
///
/// # Errors
/// If the client violates the protocol.
pub async fn serve_stdio(
    options: Options,
    listener: Option<http::Listener>,
    ended: CancellationToken,
) -> anyhow::Result<()> {
    let host = Host::new(options);
    if let Some(listener) = listener {
        tokio::spawn(listener.serve_host(Arc::clone(&host), ended.clone()));
    }
    let serving = {
        let (host, ended) = (Arc::clone(&host), ended.clone());
        async move { host.serve_stdio(ended).await }
    };
    serve_until(host, ended, serving).await
}

/// Serves HTTP until `ended`. Then ends all programs.
pub async fn serve_http(options: Options, listener: http::Listener, ended: CancellationToken) {
    let host = Host::new(options);
    let serving = listener.serve_host(Arc::clone(&host), ended.clone());
    serve_until(host, ended, serving).await;
}
