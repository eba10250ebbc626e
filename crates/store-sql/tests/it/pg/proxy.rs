//! A wire to the server that tests can cut, and that can speak TLS on the server's behalf.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Listens on loopback until it is dropped.
pub(super) struct Proxy {
    pub(super) port: u16,
    /// Whether connections are let through; while not, those that are open are cut.
    open: watch::Sender<bool>,
}

impl Proxy {
    /// In front of the server of this address, which must name a socket's folder.
    pub(super) async fn start(server: &str, tls: Option<Arc<ServerConfig>>) -> Self {
        let (_, place) = server.split_once('@').unwrap();
        let (folder, _) = place.split_once('/').unwrap();
        let socket = format!("{}/.s.PGSQL.5432", folder.replace("%2F", "/"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = watch::Sender::new(true);
        let watched = open.subscribe();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let mut watched = watched.clone();
                let (socket, tls) = (socket.clone(), tls.clone());
                tokio::spawn(async move {
                    if *watched.borrow() {
                        tokio::select! {
                            () = serve(client, &socket, tls) => {}
                            _ = watched.wait_for(|open| !open) => {}
                        }
                    }
                });
            }
        });
        Self { port, open }
    }

    pub(super) fn set_open(&self, open: bool) {
        self.open.send_replace(open);
    }
}

async fn serve(mut client: TcpStream, socket: &str, tls: Option<Arc<ServerConfig>>) {
    let server = UnixStream::connect(socket).await.unwrap();
    let Some(tls) = tls else {
        return pass(client, server).await;
    };
    // SSLRequest: eight bytes, which the server answers with one.
    let mut request = [0; 8];
    if client.read_exact(&mut request).await.is_err() || request[4..] != 80_877_103_u32.to_be_bytes() {
        return;
    }
    client.write_all(b"S").await.unwrap();
    if let Ok(client) = TlsAcceptor::from(tls).accept(client).await {
        pass(client, server).await;
    }
}

async fn pass(mut client: impl AsyncRead + AsyncWrite + Unpin, mut server: UnixStream) {
    // However it ends, it has ended.
    tokio::io::copy_bidirectional(&mut client, &mut server).await.ok();
}
