//! The contract of rows that move, between the two kinds of databases: from `SQLite` to `PostgreSQL` and back.

use testkit::store_contract::transfer;

use super::contract::fresh as server;
use crate::contract::fresh as file;

/// Each case in both directions.
macro_rules! between {
    ($($case:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let (Some(one), Some(two)) = (file().await, server().await) else { return };
            transfer::$case(one, two).await;
            let (Some(one), Some(two)) = (server().await, file().await) else { return };
            transfer::$case(one, two).await;
        })*
    };
}

between! {
    every_table_moves_whole
    what_is_here_stays_as_it_is
    a_row_that_does_not_fit_writes_nothing
    nothing_derived_is_lost
}
