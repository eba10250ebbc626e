//! Opens connections, each with the same settings. Knows no table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::error::PgError;
use super::tls;

/// Longest time of one statement, on the server.
pub(super) const STATEMENT: Duration = Duration::from_secs(30);
/// Longest time that a caller waits for an answer, when the server does not keep its own bound.
pub(super) const ANSWER: Duration = Duration::from_secs(40);
/// How long a caller waits for a server that is not there.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time to make one connection, all of it.
const CONNECT: Duration = Duration::from_secs(10);
/// Pauses between tries to connect.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Oldest server that this program knows, as the server counts.
const OLDEST_SERVER: i64 = 140_000;

type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
pub(super) type Connected = (Client, Connection<Socket, Stream>);

/// Makes connections to one database.
pub(super) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    settings: String,
    /// Tells the writes of this store from those of others.
    writer: String,
}

impl Connector {
    /// Reads the address; connects to nothing yet.
    pub(super) fn new(url: &str) -> Result<Arc<Self>, PgError> {
        let address = Address::parse(url)?;
        let tls = tls::connector(address.check, &address.roots)?;
        let writer = domain::ids::new_id();
        // A server that is told to acknowledge before it has written would break what this store promises. Keep-alives
        // let the server notice that a machine is gone, and its locks with it.
        let settings = format!(
            "SET statement_timeout = {};
             SET idle_in_transaction_session_timeout = 60000;
             SET default_transaction_isolation = 'read committed';
             SET client_min_messages = warning;
             SET tcp_keepalives_idle = 10;
             SET tcp_keepalives_interval = 5;
             SET tcp_keepalives_count = 3;
             SET omni_skills.writer = '{writer}';
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            STATEMENT.as_millis()
        );
        Ok(Arc::new(Self { config: address.config, tls, settings, writer }))
    }

    pub(super) fn writer(&self) -> &str {
        &self.writer
    }

    /// One try. The connection has to be driven, and has no settings yet.
    async fn connect(&self) -> Result<Connected, PgError> {
        let connecting = self.config.connect(self.tls.clone());
        match tokio::time::timeout(CONNECT, connecting).await {
            Ok(connected) => Ok(connected?),
            Err(_) => Err(PgError::NoConnection("the server was not reached in time".to_owned())),
        }
    }

    /// One try, with a task that drives the connection and hands what the server says by itself to `heard`.
    pub(super) async fn open<F>(&self, heard: F) -> Result<Client, PgError>
    where
        F: FnMut(AsyncMessage) + Send + 'static,
    {
        let (client, connection) = self.connect().await?;
        // Ends when the client is dropped.
        tokio::spawn(drive(connection, heard));
        answer(client.batch_execute(&self.settings)).await?;
        Ok(client)
    }

    /// Asks the server to end a statement whose caller has gone, and with it its transaction. Best effort.
    pub(super) fn cancel(&self, token: CancelToken) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let tls = self.tls.clone();
        runtime.spawn(async move {
            if let Err(error) = token.cancel_query(tls).await {
                tracing::debug!(error = %PgError::from(error), "a statement that nobody waits for goes on");
            }
        });
    }

    /// Tries again while the trouble may pass, until `patience` is over.
    pub(super) async fn open_patiently<F>(&self, patience: Duration, heard: F) -> Result<Client, PgError>
    where
        F: FnMut(AsyncMessage) + Clone + Send + 'static,
    {
        let deadline = Instant::now() + patience;
        let mut pause = PAUSE;
        loop {
            match self.open(heard.clone()).await {
                Err(error) if error.is_passing() && Instant::now() + pause < deadline => {
                    tracing::debug!(%error, "PostgreSQL is not there yet");
                }
                other => return other,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Until the connection ends. That it did is found out by who uses it next.
async fn drive<F>(mut connection: Connection<Socket, Stream>, mut heard: F)
where
    F: FnMut(AsyncMessage) + Send,
{
    loop {
        match std::future::poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(message)) => heard(message),
            Some(Err(error)) => {
                tracing::warn!(error = %PgError::from(error), "a connection to PostgreSQL was lost");
                return;
            }
            None => return,
        }
    }
}

/// Waits for an answer, but not for ever.
pub(super) async fn answer<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, PgError> {
    match tokio::time::timeout(ANSWER, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(PgError::NoAnswer),
    }
}

/// Refuses databases that cannot hold what this program writes. Returns the schema in use.
pub(super) async fn check(client: &Client) -> Result<String, PgError> {
    let sql = "SELECT current_setting('server_encoding'), current_setting('server_version_num')::bigint,
        current_setting('server_version'), current_schema()::text";
    let row = answer(client.query_one(sql, &[])).await?;
    let (encoding, number, version): (String, i64, String) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let unsuitable = |problem: String| Err(PgError::Unsuitable(problem));
    if encoding != "UTF8" {
        return unsuitable(format!("has the encoding {encoding}; create one with ENCODING 'UTF8'"));
    }
    if number < OLDEST_SERVER {
        return unsuitable(format!("is served by PostgreSQL {version}; 14 or newer is needed"));
    }
    match row.try_get(3)? {
        Some(schema) => Ok(schema),
        None => unsuitable("has no schema in its search_path that exists".to_owned()),
    }
}
