//! From a bound socket to connections: TLS, limits on what a peer may send before a handler sees it, and an orderly end.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::base_path;
use super::middleware::client::Peer;
use crate::app::App;

/// Time a client has to send the head of a request, the first one included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Time a client has for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
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
    let builder = builder();
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        match accepted {
            Ok((socket, address)) => {
                let connection = Connection {
                    app: Arc::clone(&app),
                    router: router.clone(),
                    builder: builder.clone(),
                    peer: address.ip().to_canonical(),
                    watcher: graceful.watcher(),
                    shutdown: shutdown.clone(),
                };
                tokio::spawn(connection.run(socket));
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

/// One accepted connection.
struct Connection {
    app: Arc<App>,
    router: Router,
    builder: Builder<TokioExecutor>,
    peer: IpAddr,
    watcher: Watcher,
    shutdown: CancellationToken,
}

impl Connection {
    async fn run(self, socket: TcpStream) {
        // Streams are many small writes: without this each waits for the answer to the one before.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        // The certificate of now: a reload is for connections that come after it.
        let Some(tls) = self.app.live.load().tls.clone() else { return self.serve(socket, false).await };
        let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(tls).accept(socket));
        let shutdown = self.shutdown.clone();
        tokio::select! {
            shaken = handshake => match shaken {
                Ok(Ok(stream)) => self.serve(stream, true).await,
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            },
            () = shutdown.cancelled() => {}
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, tls: bool) {
        let (app, peer) = (self.app, Peer { address: self.peer, tls });
        let service = self.router.map_request(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            base_path::take_off(&mut request, &app.config().base_path);
            request.extensions_mut().insert(peer);
            request
        });
        serve_connection(&self.builder, stream, TowerToHyperService::new(service), self.watcher).await;
    }
}

async fn serve_connection<S>(
    builder: &Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: TowerToHyperService<S>,
    watcher: Watcher,
) where
    S: tower::Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let served = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(error, "a connection ended with an error");
    }
}

/// Errors that say something about one peer only, not about the listening socket.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
