//! The `kept_rounds` and `kept_keys` tables: hidden rounds, and the keys by which they are found again.
//!
//! Rounds without a key left are gone at once; expired ones leave their trace, if they have one.

use std::collections::BTreeSet;

use domain::ids::sha256_hex;
use store::{KeptRounds, KeptScope, PruneKept, RecallKept, RecalledKept};

use super::cells::Columns;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::session::Tx;
use super::text::{Text, owned, text};
use crate::cells::Cells;
use crate::common::signed;
use crate::error::SqlError;

/// Those who keep something for one owner do so one after the other, so that they see what the other has kept.
const ONE_AT_A_TIME: &str = "SELECT pg_advisory_xact_lock(hashtextextended('omni-skills kept ' || $1, 0))";

/// See [`store::Store::keep_rounds`].
pub(super) async fn keep(exclusive: &Exclusive, rounds: &KeptRounds) -> Result<(), SqlError> {
    let scope = &rounds.scope;
    let (owner, session_hash) = (text(&scope.owner), owned(sha256_hex(&scope.session)));
    let places: BTreeSet<String> =
        rounds.keys.iter().map(|key| place(scope, key)).collect::<Result<_, SqlError>>()?;
    let places: Vec<Text<'_>> = places.into_iter().map(owned).collect();

    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    tx.rows(ONE_AT_A_TIME, &[&owner]).await?;
    let sql = "SELECT DISTINCT rounds FROM kept_keys WHERE place = ANY ($1) AND session_hash = $2";
    let left = ids(&tx.rows(sql, &[&places, &session_hash]).await?)?;
    let sql = "WITH kept AS (
            INSERT INTO kept_rounds (owner, session, expired, used_ms, bytes, trace, payload)
            VALUES ($3, $4, false, $5, $6, $7, $8) RETURNING id)
        INSERT INTO kept_keys (place, session_hash, rounds) SELECT place, $2, id FROM kept, unnest($1::text[]) AS place
        ON CONFLICT (place, session_hash) DO UPDATE SET rounds = excluded.rounds";
    let bytes = signed(rounds.payload.len() as u64);
    tx.execute(
        sql,
        &[
            &places,
            &session_hash,
            &owner,
            &text(&scope.session),
            &rounds.now_ms,
            &bytes,
            &rounds.trace,
            &rounds.payload,
        ],
    )
    .await?;
    let sql = "DELETE FROM kept_rounds WHERE id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM kept_keys WHERE rounds = id)";
    tx.execute(sql, &[&left]).await?;
    make_room(&tx, &owner, signed(rounds.owner_bytes)).await?;
    tx.commit().await
}

/// Where a key of a scope leads from, whatever the session. The parts cannot run into one another.
fn place(scope: &KeptScope, key: &str) -> Result<String, SqlError> {
    Ok(sha256_hex(serde_json::to_string(&[&scope.owner, &scope.user, &scope.dialect, key])?))
}

/// Expires the owner's least recently used rounds until the rest fits.
async fn make_room(tx: &Tx<'_>, owner: &Text<'_>, max: i64) -> Result<(), SqlError> {
    let sql = "SELECT coalesce(sum(bytes), 0)::bigint FROM kept_rounds WHERE owner = $1 AND NOT expired";
    let held = tx.row(sql, &[owner]).await?;
    let held: i64 = held.map_or(Ok(0), |row| Columns::new(&row).number("sum"))?;
    if held <= max {
        return Ok(());
    }
    // Of each, what those before it free: the first that free enough.
    let sql = "SELECT id FROM (
            SELECT id, sum(bytes) OVER (ORDER BY used_ms, id) - bytes AS freed
            FROM kept_rounds WHERE owner = $1 AND NOT expired) AS oldest
        WHERE freed < $2::bigint";
    let oldest = ids(&tx.rows(sql, &[owner, &(held - max)]).await?)?;
    expire(tx, &oldest).await
}

async fn expire(tx: &Tx<'_>, ids: &[i64]) -> Result<(), SqlError> {
    let sql = "UPDATE kept_rounds SET expired = true, payload = trace, trace = NULL, bytes = 0
        WHERE id = ANY ($1) AND trace IS NOT NULL AND NOT expired";
    tx.execute(sql, &[&ids]).await?;
    tx.execute("DELETE FROM kept_rounds WHERE id = ANY ($1) AND trace IS NULL AND NOT expired", &[&ids])
        .await?;
    Ok(())
}

fn ids(rows: &[tokio_postgres::Row]) -> Result<Vec<i64>, SqlError> {
    rows.iter().map(|row| Ok(Columns::new(row).number("id")?)).collect()
}

/// Rounds that a key leads to.
struct Found {
    id: i64,
    /// Place of the key in the question.
    asked: usize,
    session: String,
    used_ms: i64,
    /// Whether the payload is what there is to give; else it is the trace.
    alive: bool,
}

/// See [`store::Store::recall_rounds`].
pub(super) async fn recall(lanes: &Lanes, recall: &RecallKept) -> Result<Vec<RecalledKept>, SqlError> {
    let mut found = look_up(lanes, recall).await?;
    // Of one key's rounds this session's go first, then the last used.
    found.sort_by_key(|one| {
        (one.asked, one.session != recall.scope.session, std::cmp::Reverse((one.used_ms, one.id)))
    });
    found.dedup_by_key(|one| one.asked);
    let wanted: Vec<i64> = found.iter().map(|one| one.id).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let alive: Vec<i64> = found.iter().filter(|one| one.alive).map(|one| one.id).collect();
    let sql =
        "SELECT id, CASE WHEN id = ANY ($2) THEN payload ELSE trace END FROM kept_rounds WHERE id = ANY ($1)";
    let mut contents = std::collections::HashMap::new();
    for row in lanes.rows(sql, &[&wanted, &alive]).await? {
        let mut cells = Columns::new(&row);
        let id: i64 = cells.number("id")?;
        if let Some(payload) = cells.optional_bytes("payload")? {
            contents.insert(id, payload);
        }
    }
    let asked: Vec<&String> = recall.keys.iter().chain(&recall.anywhere).collect();
    let mut out: Vec<(i64, RecalledKept)> = Vec::new();
    let mut used = Vec::new();
    for one in found {
        let keys: Vec<String> = asked.get(one.asked).map(|key| (*key).clone()).into_iter().collect();
        if let Some((_, known)) = out.iter_mut().find(|(id, _)| *id == one.id) {
            known.keys.extend(keys);
            continue;
        }
        let Some(payload) = contents.remove(&one.id) else { continue };
        if one.alive && recall.now_ms - one.used_ms > recall.ttl_ms / 10 {
            used.push(one.id);
        }
        out.push((one.id, RecalledKept { keys, session: one.session, payload }));
    }
    touch(lanes, &used, recall.now_ms).await?;
    Ok(out.into_iter().map(|(_, recalled)| recalled).collect())
}

async fn look_up(lanes: &Lanes, recall: &RecallKept) -> Result<Vec<Found>, SqlError> {
    let asked: Vec<Text<'_>> = recall
        .keys
        .iter()
        .chain(&recall.anywhere)
        .map(|key| place(&recall.scope, key).map(owned))
        .collect::<Result<_, _>>()?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT asked.number, r.session, r.id, r.used_ms, r.expired
        FROM unnest($1::text[]) WITH ORDINALITY AS asked (place, number)
        JOIN kept_keys k ON k.place = asked.place AND (asked.number > $2 OR k.session_hash = $3)
        JOIN kept_rounds r ON r.id = k.rounds";
    let (here, session) = (signed(recall.keys.len() as u64), owned(sha256_hex(&recall.scope.session)));
    let rows = lanes.rows(sql, &[&asked, &here, &session]).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut cells = Columns::new(row);
        let (number, session): (usize, _) = (cells.number("number")?, cells.text("session")?);
        let (id, used_ms, expired) = (cells.number("id")?, cells.number("used_ms")?, cells.flag("expired")?);
        let alive = expired || recall.now_ms - used_ms < recall.ttl_ms;
        found.push(Found { asked: number.saturating_sub(1), session, id, used_ms, alive });
    }
    Ok(found)
}

/// Notes that these rounds were used.
async fn touch(lanes: &Lanes, ids: &[i64], now_ms: i64) -> Result<(), SqlError> {
    if ids.is_empty() {
        return Ok(());
    }
    // In one order, so that two who touch the same never wait for one another.
    let sql = "UPDATE kept_rounds SET used_ms = greatest(used_ms, $2) WHERE id IN
        (SELECT id FROM kept_rounds WHERE id = ANY ($1) ORDER BY id FOR UPDATE)";
    lanes.execute(sql, &[&ids, &now_ms]).await?;
    Ok(())
}

/// See [`store::Store::prune_rounds`].
pub(super) async fn prune(exclusive: &Exclusive, prune: PruneKept) -> Result<u64, SqlError> {
    let sql = "SELECT id FROM kept_rounds WHERE expired = $1 AND used_ms <= $2 ORDER BY used_ms LIMIT $3
        FOR UPDATE SKIP LOCKED";
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let batch = i64::from(prune.batch);
    let rounds = ids(&tx.rows(sql, &[&false, &(prune.now_ms - prune.ttl_ms), &batch]).await?)?;
    let trace_ms = prune.trace_ms.max(prune.ttl_ms);
    let traces = ids(&tx.rows(sql, &[&true, &(prune.now_ms - trace_ms), &batch]).await?)?;
    tx.execute("DELETE FROM kept_rounds WHERE id = ANY ($1)", &[&traces]).await?;
    expire(&tx, &rounds).await?;
    tx.commit().await?;
    Ok(rounds.len().max(traces.len()) as u64)
}
