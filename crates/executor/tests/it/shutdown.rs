//! Stopping: what runs is waited for, then ended, and every row is finished.

use std::time::Duration;

use domain::Status::{Error, Success};
use executor::Refusal;

use crate::fixture::{doing, standard};

#[tokio::test]
async fn what_ends_in_time_is_waited_for() {
    let fixture = standard();
    let (execution, ()) = tokio::join!(fixture.executor.execute(doing("hold")), async {
        fixture.probe.started.notified().await;
        fixture.probe.release.add_permits(1);
        fixture.executor.shutdown(Duration::from_mins(1)).await;
        assert_eq!(fixture.store.rows()[0].status, Success);
    });
    assert_eq!(execution.unwrap().status, Success);
    let refused = fixture.executor.execute(doing("hold")).await;
    assert!(matches!(refused, Err(Refusal::ShuttingDown)), "{refused:?}");
}

#[tokio::test]
async fn the_rest_is_interrupted() {
    let fixture = standard();
    let (execution, ()) = tokio::join!(fixture.executor.execute(doing("forever")), async {
        fixture.probe.started.notified().await;
        fixture.executor.shutdown(Duration::ZERO).await;
        assert_eq!(fixture.store.rows()[0].status, Error);
    });
    assert_eq!(execution.unwrap().error_message.as_deref(), Some("interrupted"));
}
