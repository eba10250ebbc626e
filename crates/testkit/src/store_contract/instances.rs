//! Processes on one database, and what the dead leave behind.

use std::sync::Arc;
use std::time::Instant;

use domain::{Approval, ApprovalState, Execution, Status, ids};
use store::{ApprovalDecision, Claim, Database};

use super::{PATIENCE, Place, sample};

const MESSAGE: &str = "interrupted";

/// Ends what the dead left until so many were ended: it may take a moment until a death is known.
async fn interrupt(store: &Arc<dyn Database>, expected: u64) {
    let start = Instant::now();
    let mut ended = 0;
    while ended < expected && start.elapsed() < PATIENCE {
        ended += store.interrupt_orphans(MESSAGE).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(ended, expected);
    assert_eq!(store.interrupt_orphans(MESSAGE).await.unwrap(), 0);
}

async fn registered(place: &dyn Place) -> Arc<dyn Database> {
    let store = place.open().await;
    store.register_instance(&ids::new_id()).await.unwrap();
    store
}

async fn running(store: &Arc<dyn Database>) -> String {
    let execution = sample::execution();
    store.create_execution(&execution).await.unwrap();
    assert!(store.start_execution(&execution.id).await.unwrap());
    execution.id
}

async fn status(store: &Arc<dyn Database>, id: &str) -> (Status, Option<String>) {
    let row = store.execution(id).await.unwrap().unwrap();
    (row.status, row.error_message)
}

/// However the row was made, and however many died.
pub async fn rows_of_the_dead_are_ended_and_those_of_the_living_stay(
    place: Box<dyn Place>,
    _: Box<dyn Place>,
) {
    let (dies, lives, asks) =
        (registered(&*place).await, registered(&*place).await, registered(&*place).await);
    let dead_running = running(&dies).await;
    let dead_pending = sample::execution();
    dies.create_execution(&dead_pending).await.unwrap();
    let dead_once = sample::execution();
    let claim = Claim { key: "k".to_owned(), fingerprint: "f".to_owned(), now_ms: 0, expires_ms: 1 };
    dies.create_execution_once(&dead_once, &claim).await.unwrap();
    let ended = running(&dies).await;
    assert!(dies.finish_execution(&ended, sample::outcome()).await.unwrap());
    let (living, own) = (running(&lives).await, running(&asks).await);
    interrupt(&asks, 0).await;
    lives.renew_instance().await.unwrap();
    drop(dies);
    interrupt(&asks, 3).await;
    for id in [&dead_running, &dead_pending.id, &dead_once.id] {
        assert_eq!(status(&asks, id).await, (Status::Error, Some(MESSAGE.to_owned())));
    }
    assert_eq!(status(&asks, &ended).await.0, Status::Success);
    assert_eq!(status(&asks, &living).await.0, Status::Running);
    assert!(lives.finish_execution(&living, sample::outcome()).await.unwrap());
    assert_eq!(status(&asks, &own).await.0, Status::Running);
}

/// Until somebody decides.
pub async fn what_waits_for_a_person_outlives_its_process(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (dies, asks) = (registered(&*place).await, registered(&*place).await);
    let approval = Approval::waiting(sample::CHANGED.to_owned());
    let row = Execution { approval: Some(approval), ..sample::execution() };
    dies.await_approval(&row, "call").await.unwrap();
    let dead = running(&dies).await;
    drop(dies);
    interrupt(&asks, 1).await;
    assert_eq!(status(&asks, &dead).await.0, Status::Error);
    assert_eq!(asks.execution(&row.id).await.unwrap(), Some(row));
}

/// A row that one process wrote and another one approved or started belongs to the latter.
pub async fn who_starts_a_row_owns_it(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (dies, lives, asks) =
        (registered(&*place).await, registered(&*place).await, registered(&*place).await);
    let approval = Approval::waiting(sample::CHANGED.to_owned());
    let mut rows = Vec::new();
    for call in ["approved", "started"] {
        let row = Execution { approval: Some(approval.clone()), ..sample::execution() };
        dies.await_approval(&row, call).await.unwrap();
        rows.push(row.id);
    }
    let handed_over = sample::execution();
    dies.create_execution(&handed_over).await.unwrap();
    assert!(lives.start_execution(&handed_over.id).await.unwrap());
    drop(dies);
    for id in &rows {
        let approved = Approval { state: ApprovalState::Approved, ..approval.clone() };
        let decision = ApprovalDecision { approval: approved, input: None, message: None };
        assert!(lives.decide_approval(id, decision).await.unwrap().is_some());
    }
    assert!(lives.start_execution(&rows[1]).await.unwrap());
    // Long enough for a death to be known: another one's is.
    let other = registered(&*place).await;
    running(&other).await;
    drop(other);
    interrupt(&asks, 1).await;
    assert_eq!(status(&asks, &rows[0]).await.0, Status::Pending);
    assert_eq!(status(&asks, &rows[1]).await.0, Status::Running);
    assert_eq!(status(&asks, &handed_over.id).await.0, Status::Running);
    drop(lives);
    interrupt(&asks, 3).await;
}

/// Rows of an older release, or of a store that never registered.
pub async fn rows_of_nobody_are_orphans(place: Box<dyn Place>, _: Box<dyn Place>) {
    let (nobody, asks) = (place.open().await, registered(&*place).await);
    let row = running(&nobody).await;
    interrupt(&asks, 1).await;
    assert_eq!(status(&asks, &row).await.0, Status::Error);
}

/// The command line opens databases without being a process that runs anything.
pub async fn renewing_without_registering_is_no_error(place: Box<dyn Place>, _: Box<dyn Place>) {
    let store = place.open().await;
    store.renew_instance().await.unwrap();
    let lives = registered(&*place).await;
    running(&lives).await;
    lives.renew_instance().await.unwrap();
    interrupt(&store, 0).await;
}
