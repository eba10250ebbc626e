//! Servers that cannot be used, and what is said about them.

use std::error::Error as _;

use store_sql::PostgresStore;
use testkit::postgres::Schema;

/// Everything that could be logged.
fn said(error: &store::StoreError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text} {cause} {cause:?}");
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let Some(schema) = Schema::new().await else { return };
    let (_, place) = schema.server.split_once('@').unwrap();
    let (host, _) = place.split_once('/').unwrap();
    let cases = [
        (format!("postgres://postgres:s3cr3t@{host}/no_such_database"), "no_such_database"),
        (format!("postgres://no_such_user:s3cr3t@{host}/postgres"), "no_such_user"),
        (
            format!("postgres://postgres:s3cr3t@{host}/postgres?options=-c%20search_path%3Dnowhere"),
            "search_path",
        ),
        (
            format!("postgres://postgres:s3cr3t@{host}/postgres?sslrootcert=s3cr3t&sslmode=verify-ca"),
            "sslrootcert",
        ),
        ("postgres://postgres:s3cr3t@h:99999/postgres".to_owned(), "percent-encoded"),
        ("mysql://postgres:s3cr3t@h/postgres".to_owned(), "postgres://"),
    ];
    for (url, part) in cases {
        let Err(error) = PostgresStore::open(&url).await else { panic!("{url} was opened") };
        let said = said(&error);
        assert!(said.contains(part) && !said.contains("s3cr3t"), "{said}");
    }
}

#[tokio::test]
async fn a_refused_row_says_neither_its_values_nor_the_statement() {
    use store::{Audit as _, Store as _};
    let Some(schema) = Schema::new().await else { return };
    let store = super::open(&schema).await;
    let client = schema.client().await;
    client.batch_execute("ALTER TABLE kv ADD CONSTRAINT short CHECK (length(value) < 5)").await.unwrap();
    let error = store.set_value("a", "s3cr3t value").await.unwrap_err();
    let refused = said(&error);
    assert!(refused.contains("23514"), "{refused}");
    assert!(!refused.contains("s3cr3t") && !refused.contains("INSERT"), "{refused}");

    client.batch_execute("DROP TABLE audit").await.unwrap();
    let entry = testkit::store_contract::sample::audit("s3cr3t");
    let refused = said(&store.append_audit(&entry).await.unwrap_err());
    assert!(
        refused.contains("42P01") && !refused.contains("s3cr3t") && !refused.contains("INSERT"),
        "{refused}"
    );
}
