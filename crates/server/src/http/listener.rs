//! From a bound socket to connections: limits on what a peer may send before a handler sees it, and an orderly end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::app::App;

/// Time a client has to send the head of a request, the first one included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Headers of one request.
const HEADERS: usize = 100;
/// Bytes of the head of one request.
const HEAD_BYTES: usize = 64 * 1024;
/// Requests at the same time on one HTTP/2 connection.
const STREAMS: u32 = 256;
/// Time for requests under way after a stop was asked for.
const DRAIN: Duration = Duration::from_secs(25);
/// Pause after the system had no socket left for us.
const OUT_OF_SOCKETS: Duration = Duration::from_millis(100);

/// The server could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listening socket failed.
    #[error("the listening socket failed")]
    Listener(#[source] io::Error),
}

/// Answers connections until `shutdown` is cancelled, then lets requests under way end, for at most 25 seconds.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    listener.local_addr().map_err(ServeError::Listener)?;
    let router = super::router(Arc::clone(&app));
    let service =
        TowerToHyperService::new(router.map_request(|request: Request<Incoming>| request.map(Body::new)));
    let builder = builder();
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        match accepted {
            Ok((socket, _)) => {
                let watcher = graceful.watcher();
                tokio::spawn(connection(builder.clone(), socket, service.clone(), watcher));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(OUT_OF_SOCKETS).await;
            }
        }
    }
    drop(listener);
    app.executor.close_events();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still under way when the time for draining was over");
    }
    Ok(())
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(30));
    builder
}

async fn connection<S>(
    builder: Builder<TokioExecutor>,
    socket: TcpStream,
    service: TowerToHyperService<S>,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: tower::Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    // Streams are many small writes: without this each waits for the answer to the one before.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let served = builder.serve_connection(TokioIo::new(socket), service).into_owned();
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(error, "a connection ended with an error");
    }
}

/// Errors that say something about one peer only, not about the listening socket.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
