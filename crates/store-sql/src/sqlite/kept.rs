//! The `kept_rounds` and `kept_keys` tables: hidden rounds, and the keys by which they are found again.
//!
//! Rounds without a key left are gone at once; expired ones leave their trace, if they have one.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, params};
use store::{KeptRounds, PruneKept, RecallKept, RecalledKept};

use crate::common::signed;
use crate::error::SqlError;

/// See [`store::Store::keep_rounds`].
pub(super) fn keep(connection: &Connection, rounds: &KeptRounds) -> Result<(), SqlError> {
    let scope = &rounds.scope;
    let keys: HashSet<&String> = rounds.keys.iter().collect();
    let mut left = HashSet::new();
    {
        let sql = "SELECT rounds FROM kept_keys WHERE owner = ?1 AND user = ?2 AND dialect = ?3 AND key = ?4 AND session = ?5";
        let mut statement = connection.prepare_cached(sql)?;
        for key in &keys {
            let values = params![scope.owner, scope.user, scope.dialect, key, scope.session];
            left.extend(statement.query_row(values, |row| row.get::<_, i64>(0)).optional()?);
        }
    }
    let sql = "INSERT INTO kept_rounds (owner, session, expired, used_ms, bytes, trace, payload)
        VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6)";
    let bytes = signed(rounds.payload.len() as u64);
    let values = params![scope.owner, scope.session, rounds.now_ms, bytes, rounds.trace, rounds.payload];
    connection.prepare_cached(sql)?.execute(values)?;
    let id = connection.last_insert_rowid();
    let sql =
        "INSERT INTO kept_keys (owner, user, dialect, key, session, rounds) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (owner, user, dialect, key, session) DO UPDATE SET rounds = excluded.rounds";
    let mut statement = connection.prepare_cached(sql)?;
    for key in keys {
        statement.execute(params![scope.owner, scope.user, scope.dialect, key, scope.session, id])?;
    }
    let sql =
        "DELETE FROM kept_rounds WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM kept_keys WHERE rounds = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    for old in left {
        statement.execute([old])?;
    }
    make_room(connection, &scope.owner, signed(rounds.owner_bytes))
}

/// Expires the owner's least recently used rounds until the rest fits.
fn make_room(connection: &Connection, owner: &str, max: i64) -> Result<(), SqlError> {
    let sql = "SELECT coalesce(sum(bytes), 0) FROM kept_rounds WHERE owner = ?1 AND expired = 0";
    let held: i64 = connection.prepare_cached(sql)?.query_row([owner], |row| row.get(0))?;
    let mut excess = held - max;
    if excess <= 0 {
        return Ok(());
    }
    let sql = "SELECT id, bytes FROM kept_rounds WHERE owner = ?1 AND expired = 0 ORDER BY used_ms, id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([owner])?;
    let mut oldest: Vec<i64> = Vec::new();
    while excess > 0
        && let Some(row) = rows.next()?
    {
        oldest.push(row.get(0)?);
        excess -= row.get::<_, i64>(1)?;
    }
    drop(rows);
    oldest.into_iter().try_for_each(|id| expire(connection, id))
}

fn expire(connection: &Connection, id: i64) -> Result<(), SqlError> {
    let sql = "UPDATE kept_rounds SET expired = 1, payload = trace, trace = NULL, bytes = 0
        WHERE id = ?1 AND trace IS NOT NULL";
    if connection.prepare_cached(sql)?.execute([id])? == 0 {
        connection.prepare_cached("DELETE FROM kept_rounds WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Rounds that a key leads to.
struct Found {
    id: i64,
    /// Place of the key in the question.
    place: usize,
    session: String,
    used_ms: i64,
    /// Whether `payload` is what there is to give; else it is `trace`.
    alive: bool,
}

/// See [`store::Store::recall_rounds`]. Only reads; says which rounds are to be touched.
pub(super) fn recall(
    connection: &Connection,
    recall: &RecallKept,
) -> Result<(Vec<RecalledKept>, Vec<i64>), SqlError> {
    let mut found = look_up(connection, recall, &recall.keys, false)?;
    let elsewhere = look_up(connection, recall, &recall.anywhere, true)?;
    found.extend(elsewhere.into_iter().map(|one| Found { place: recall.keys.len() + one.place, ..one }));
    // Of one key's rounds this session's go first, then the last used.
    found.sort_by_key(|one| {
        (one.place, one.session != recall.scope.session, std::cmp::Reverse((one.used_ms, one.id)))
    });
    found.dedup_by_key(|one| one.place);
    let asked: Vec<&String> = recall.keys.iter().chain(&recall.anywhere).collect();
    let sql = "SELECT CASE WHEN ?2 THEN payload ELSE trace END FROM kept_rounds WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut out: Vec<(i64, RecalledKept)> = Vec::new();
    let mut used = Vec::new();
    for one in found {
        let keys: Vec<String> = asked.get(one.place).map(|key| (*key).clone()).into_iter().collect();
        if let Some((_, known)) = out.iter_mut().find(|(id, _)| *id == one.id) {
            known.keys.extend(keys);
            continue;
        }
        let payload: Option<Option<Vec<u8>>> =
            statement.query_row(params![one.id, one.alive], |row| row.get(0)).optional()?;
        let Some(payload) = payload.flatten() else { continue };
        if one.alive && recall.now_ms - one.used_ms > recall.ttl_ms / 10 {
            used.push(one.id);
        }
        out.push((one.id, RecalledKept { keys, session: one.session, payload }));
    }
    Ok((out.into_iter().map(|(_, recalled)| recalled).collect(), used))
}

fn look_up(
    connection: &Connection,
    recall: &RecallKept,
    keys: &[String],
    any_session: bool,
) -> Result<Vec<Found>, SqlError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    // CROSS keeps this order of joins: a few keys, each looked up in the primary key.
    let sql = "SELECT asked.key, k.session, r.id, r.used_ms, r.expired
        FROM json_each(?1) asked
        CROSS JOIN kept_keys k ON k.owner = ?2 AND k.user = ?3 AND k.dialect = ?4 AND k.key = asked.value
            AND (?5 OR k.session = ?6)
        CROSS JOIN kept_rounds r ON r.id = k.rounds";
    let scope = &recall.scope;
    let keys = serde_json::to_string(keys)?;
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![keys, scope.owner, scope.user, scope.dialect, any_session, scope.session];
    let rows = statement.query_map(values, |row| {
        let (used_ms, expired): (i64, bool) = (row.get(3)?, row.get(4)?);
        let alive = expired || recall.now_ms - used_ms < recall.ttl_ms;
        let place = row.get::<_, u32>(0)? as usize;
        Ok(Found { place, session: row.get(1)?, id: row.get(2)?, used_ms, alive })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Notes that these rounds were used.
pub(super) fn touch(connection: &Connection, ids: &[i64], now_ms: i64) -> Result<(), SqlError> {
    let sql = "UPDATE kept_rounds SET used_ms = max(used_ms, ?2) WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for id in ids {
        statement.execute([*id, now_ms])?;
    }
    Ok(())
}

/// See [`store::Store::prune_rounds`].
pub(super) fn prune(connection: &Connection, prune: PruneKept) -> Result<u64, SqlError> {
    let sql = "SELECT id FROM kept_rounds WHERE expired = ?1 AND used_ms <= ?2 ORDER BY used_ms LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut old = |expired: bool, age_ms: i64| -> Result<Vec<i64>, SqlError> {
        let rows =
            statement.query_map(params![expired, prune.now_ms - age_ms, prune.batch], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let (rounds, traces) = (old(false, prune.ttl_ms)?, old(true, prune.trace_ms.max(prune.ttl_ms))?);
    for id in &traces {
        connection.prepare_cached("DELETE FROM kept_rounds WHERE id = ?1")?.execute([id])?;
    }
    for id in &rounds {
        expire(connection, *id)?;
    }
    Ok(rounds.len().max(traces.len()) as u64)
}
