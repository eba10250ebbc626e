//! The one thread that writes. Waiting jobs share a transaction (group commit); each has its own savepoint, so that
//! one that fails harms no other, and each learns its result only after the commit. A few jobs run alone, outside of any
//! transaction.
//!
//! Knows nothing of what the jobs do. A caller that stops waiting does not undo its write.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use store::StoreError;
use tokio::sync::{mpsc, oneshot};

use crate::error::SqlError;

/// Most jobs of one transaction.
const GROUP: usize = 256;
/// Most jobs that wait; beyond it callers wait to hand theirs over.
const QUEUE: usize = 1024;

/// Hands jobs to the writer thread. Dropping it writes what waits, then ends the thread.
pub(super) struct Writer {
    /// `None` only while dropping.
    sender: Option<mpsc::Sender<Message>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Job(Box<dyn Job>),
    Stop,
}

/// One write, from the thread's point of view.
trait Job: Send {
    /// What it needs around it.
    fn kind(&self) -> Kind;
    /// Does the work inside a savepoint; false asks for its rollback.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Tells the caller, after the commit.
    fn committed(self: Box<Self>);
    /// Tells the caller that the transaction was lost; a job that had failed by itself keeps its own error.
    fn lost(self: Box<Self>, cause: &Arc<rusqlite::Error>);
}

/// What a job needs around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A savepoint, to be rolled back to when it fails half-way.
    Whole,
    /// Nothing: it changes something with one statement only, which does all or nothing by itself.
    One,
    /// No transaction.
    Alone,
}

struct Write<T, F> {
    work: Option<F>,
    /// `None` until it has run.
    result: Option<Result<T, SqlError>>,
    kind: Kind,
    reply: oneshot::Sender<store::Result<T>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, SqlError> + Send,
{
    fn kind(&self) -> Kind {
        self.kind
    }

    fn run(&mut self, connection: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            let result = catch_unwind(AssertUnwindSafe(|| work(connection)));
            self.result = Some(result.unwrap_or(Err(SqlError::Panicked)));
        }
        matches!(self.result, Some(Ok(_)))
    }

    fn committed(self: Box<Self>) {
        if let Some(result) = self.result {
            // A caller that went away is no error: the write stands.
            self.reply.send(result.map_err(StoreError::from)).ok();
        }
    }

    fn lost(self: Box<Self>, cause: &Arc<rusqlite::Error>) {
        let error = match self.result {
            Some(Err(own)) => own,
            Some(Ok(_)) | None => SqlError::Lost(cause.clone()),
        };
        self.reply.send(Err(error.into())).ok();
    }
}

impl Writer {
    /// Starts the thread, which owns the connection.
    pub(super) fn start(connection: Connection) -> Result<Self, SqlError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || serve(&connection, receiver))?;
        Ok(Self { sender: Some(sender), thread: Mutex::new(Some(thread)) })
    }

    /// Runs `work` in a transaction and returns once it is committed. An `Err` rolls back what it did.
    pub(super) async fn run<T, F>(&self, work: F) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, SqlError> + Send + 'static,
    {
        self.hand_over(work, Kind::Whole).await
    }

    /// As [`Writer::run`], for work that changes something with one statement only: it needs no savepoint, which costs as
    /// much as a small write itself.
    pub(super) async fn run_one<T, F>(&self, work: F) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, SqlError> + Send + 'static,
    {
        self.hand_over(work, Kind::One).await
    }

    /// Runs `work` outside of a transaction, for what `SQLite` does only there. What it has changed stays, even when it
    /// ends with an `Err`.
    pub(super) async fn run_alone<T, F>(&self, work: F) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, SqlError> + Send + 'static,
    {
        self.hand_over(work, Kind::Alone).await
    }

    async fn hand_over<T, F>(&self, work: F, kind: Kind) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, SqlError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Write { work: Some(work), result: None, kind, reply };
        let sender = self.sender.as_ref().ok_or(StoreError::Closed)?;
        sender.send(Message::Job(Box::new(job))).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes what waits and ends the thread; later jobs are refused.
    pub(super) async fn stop(&self) {
        if let Some(sender) = &self.sender {
            // An error means that the thread has stopped already.
            sender.send(Message::Stop).await.ok();
        }
        if let Some(thread) = self.take_thread() {
            // The closure cannot fail, and a panic of the thread has nothing to tell.
            tokio::task::spawn_blocking(move || thread.join().ok()).await.ok();
        }
    }

    fn take_thread(&self) -> Option<JoinHandle<()>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.take_thread() {
            thread.join().ok();
        }
    }
}

/// The thread: ends when every sender is gone or a stop was read, after the last waiting job.
fn serve(connection: &Connection, mut receiver: mpsc::Receiver<Message>) {
    let mut group = Vec::with_capacity(GROUP);
    while receiver.blocking_recv_many(&mut group, GROUP) > 0 {
        let mut jobs = VecDeque::with_capacity(group.len());
        for message in group.drain(..) {
            match message {
                Message::Job(job) => jobs.push_back(job),
                Message::Stop => receiver.close(),
            }
        }
        while !jobs.is_empty() {
            if let Some(mut job) = jobs.pop_front_if(|job| job.kind() == Kind::Alone) {
                job.run(connection);
                job.committed();
            } else {
                transaction(connection, &mut jobs);
            }
        }
    }
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        tracing::warn!(%error, "the database's statistics were not updated");
    }
}

/// Takes jobs out until all are done or the transaction is lost (a full disk ends it as a whole); those not yet run
/// stay for the next one.
fn transaction(connection: &Connection, jobs: &mut VecDeque<Box<dyn Job>>) {
    let mut done = Vec::with_capacity(jobs.len());
    match group(connection, jobs, &mut done) {
        Ok(()) => done.into_iter().for_each(Job::committed),
        Err(error) => {
            tracing::error!(%error, jobs = done.len(), "a write transaction failed");
            if !connection.is_autocommit()
                && let Err(error) = control(connection, "ROLLBACK")
            {
                tracing::error!(%error, "rollback failed");
            }
            let cause = Arc::new(error);
            for job in done {
                job.lost(&cause);
            }
        }
    }
}

fn group(
    connection: &Connection,
    jobs: &mut VecDeque<Box<dyn Job>>,
    done: &mut Vec<Box<dyn Job>>,
) -> rusqlite::Result<()> {
    if let Err(error) = control(connection, "BEGIN IMMEDIATE") {
        while let Some(job) = jobs.pop_front_if(|job| job.kind() != Kind::Alone) {
            done.push(job);
        }
        return Err(error);
    }
    while let Some(mut job) = jobs.pop_front_if(|job| job.kind() != Kind::Alone) {
        let ran = match job.kind() {
            Kind::One => one(connection, &mut *job),
            Kind::Whole | Kind::Alone => savepoint(connection, &mut *job),
        };
        done.push(job);
        ran?;
    }
    control(connection, "COMMIT")
}

/// An `Err` means that the transaction itself is gone.
fn savepoint(connection: &Connection, job: &mut dyn Job) -> rusqlite::Result<()> {
    control(connection, "SAVEPOINT job")?;
    if !job.run(connection) {
        control(connection, "ROLLBACK TO job")?;
    }
    control(connection, "RELEASE job")
}

/// An `Err` means that the transaction itself is gone.
fn one(connection: &Connection, job: &mut dyn Job) -> rusqlite::Result<()> {
    if !job.run(connection) && connection.is_autocommit() {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT_ROLLBACK);
        return Err(rusqlite::Error::SqliteFailure(code, None));
    }
    Ok(())
}

fn control(connection: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn writer() -> Arc<Writer> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY)").unwrap();
        Arc::new(Writer::start(connection).unwrap())
    }

    async fn put(writer: &Writer, x: i64) -> store::Result<()> {
        writer.run(move |c| Ok(c.execute("INSERT INTO t VALUES (?1)", [x]).map(drop)?)).await
    }

    async fn all(writer: &Writer) -> Vec<i64> {
        let read = |c: &Connection| {
            let mut statement = c.prepare("SELECT x FROM t ORDER BY x")?;
            let rows = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            Ok(rows)
        };
        writer.run(read).await.unwrap()
    }

    /// Holds the writer until the returned sender is dropped, so that what is queued meanwhile shares a transaction.
    async fn hold(writer: &Arc<Writer>) -> std::sync::mpsc::Sender<()> {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (started, running) = oneshot::channel();
        let writer = writer.clone();
        tokio::spawn(async move {
            let job = move |_: &Connection| {
                started.send(()).ok();
                held.recv().ok();
                Ok(())
            };
            writer.run(job).await
        });
        running.await.unwrap();
        release
    }

    /// Queues a job behind what is queued already.
    async fn queue<F>(writer: &Arc<Writer>, work: F) -> tokio::task::JoinHandle<store::Result<()>>
    where
        F: FnOnce(&Connection) -> Result<(), SqlError> + Send + 'static,
    {
        let before = writer.sender.as_ref().unwrap().capacity();
        let task = tokio::spawn({
            let writer = writer.clone();
            async move { writer.run(work).await }
        });
        while writer.sender.as_ref().unwrap().capacity() == before {
            tokio::task::yield_now().await;
        }
        task
    }

    fn insert(x: i64) -> impl FnOnce(&Connection) -> Result<(), SqlError> + Send + 'static {
        move |c| Ok(c.execute("INSERT INTO t VALUES (?1)", [x]).map(drop)?)
    }

    #[tokio::test]
    async fn a_failing_or_panicking_job_harms_no_other() {
        let writer = writer();
        let release = hold(&writer).await;
        let first = queue(&writer, insert(1)).await;
        let duplicate = queue(&writer, |c| {
            insert(2)(c)?;
            insert(1)(c)
        })
        .await;
        let panicking = queue(&writer, |c| {
            insert(3)(c)?;
            panic!("on purpose");
        })
        .await;
        let last = queue(&writer, insert(4)).await;
        drop(release);
        first.await.unwrap().unwrap();
        assert!(duplicate.await.unwrap().is_err());
        let error = panicking.await.unwrap().unwrap_err();
        assert!(error.source().unwrap().to_string().contains("panicked"));
        last.await.unwrap().unwrap();
        assert_eq!(all(&writer).await, [1, 4]);
    }

    #[tokio::test]
    async fn a_lost_transaction_fails_its_jobs_and_not_the_next_ones() {
        let writer = writer();
        let release = hold(&writer).await;
        let before = queue(&writer, insert(1)).await;
        let losing = queue(&writer, |c| Ok(c.execute_batch("ROLLBACK")?)).await;
        let after = queue(&writer, insert(2)).await;
        drop(release);
        assert!(matches!(before.await.unwrap(), Err(StoreError::Backend(_))));
        assert!(matches!(losing.await.unwrap(), Err(StoreError::Backend(_))));
        after.await.unwrap().unwrap();
        assert_eq!(all(&writer).await, [2]);
    }

    #[tokio::test]
    async fn a_job_of_one_statement_fails_by_itself_or_with_its_transaction() {
        let writer = writer();
        put(&writer, 1).await.unwrap();
        let release = hold(&writer).await;
        let before = queue(&writer, insert(2)).await;
        let one = |work: fn(&Connection) -> Result<(), SqlError>| {
            let writer = writer.clone();
            tokio::spawn(async move { writer.run_one(work).await })
        };
        let duplicate = one(|c| insert(1)(c));
        tokio::task::yield_now().await;
        let after = queue(&writer, insert(3)).await;
        drop(release);
        before.await.unwrap().unwrap();
        assert!(duplicate.await.unwrap().is_err());
        after.await.unwrap().unwrap();
        assert_eq!(all(&writer).await, [1, 2, 3]);

        let release = hold(&writer).await;
        let lost = queue(&writer, insert(4)).await;
        let losing = one(|c| {
            c.execute_batch("ROLLBACK")?;
            insert(1)(c)
        });
        tokio::task::yield_now().await;
        let next = queue(&writer, insert(5)).await;
        drop(release);
        assert!(lost.await.unwrap().is_err(), "its transaction is gone");
        assert!(losing.await.unwrap().is_err());
        next.await.unwrap().unwrap();
        assert_eq!(all(&writer).await, [1, 2, 3, 5]);
    }

    #[tokio::test]
    async fn a_failed_commit_fails_every_job() {
        let writer = writer();
        let schema = "PRAGMA foreign_keys = ON;
            CREATE TABLE child (x REFERENCES t (x) DEFERRABLE INITIALLY DEFERRED)";
        // Outside the writer's transaction the pragma would count; inside it is ignored, so set it per connection.
        writer
            .run(move |c| Ok(c.execute_batch(&format!("COMMIT; {schema}; BEGIN; SAVEPOINT job"))?))
            .await
            .unwrap();
        let release = hold(&writer).await;
        let innocent = queue(&writer, insert(1)).await;
        let orphan = queue(&writer, |c| Ok(c.execute_batch("INSERT INTO child VALUES (99)")?)).await;
        drop(release);
        assert!(innocent.await.unwrap().is_err());
        assert!(orphan.await.unwrap().is_err());
        put(&writer, 5).await.unwrap();
        assert_eq!(all(&writer).await, [5]);
    }

    #[tokio::test]
    async fn what_runs_alone_keeps_its_place_and_has_no_transaction() {
        let writer = writer();
        let release = hold(&writer).await;
        let before = queue(&writer, insert(1)).await;
        let alone = tokio::spawn({
            let writer = writer.clone();
            async move {
                let work = |c: &Connection| {
                    assert!(c.is_autocommit());
                    Ok(c.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))?)
                };
                writer.run_alone(work).await
            }
        });
        tokio::task::yield_now().await;
        let after = queue(&writer, insert(2)).await;
        drop(release);
        before.await.unwrap().unwrap();
        after.await.unwrap().unwrap();
        assert_eq!(alone.await.unwrap().unwrap(), 1);
        assert_eq!(all(&writer).await, [1, 2]);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_does_not_undo_its_write() {
        let writer = writer();
        let release = hold(&writer).await;
        let gone = queue(&writer, insert(1)).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        drop(release);
        assert_eq!(all(&writer).await, [1]);
    }

    #[tokio::test]
    async fn stopping_writes_what_waits_and_refuses_the_rest() {
        let writer = writer();
        let release = hold(&writer).await;
        let waiting = queue(&writer, insert(1)).await;
        let stopping = tokio::spawn({
            let writer = writer.clone();
            async move { writer.stop().await }
        });
        drop(release);
        waiting.await.unwrap().unwrap();
        stopping.await.unwrap();
        assert!(matches!(put(&writer, 2).await, Err(StoreError::Closed)));
    }

    #[tokio::test]
    async fn more_callers_than_the_queue_holds_all_get_through() {
        let writer = writer();
        let tasks: Vec<_> = (0..2_000)
            .map(|x| {
                let writer = writer.clone();
                tokio::spawn(async move { put(&writer, x).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(all(&writer).await.len(), 2_000);
    }
}
