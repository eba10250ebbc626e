-- What persons decide about executions. One row for each execution that needed a word; approval is the JSON that the
-- API shows, the other columns are for look-ups. taken: its outcome was handed to a model.
CREATE TABLE approvals (
    execution_id TEXT    NOT NULL PRIMARY KEY,
    call         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'approved', 'denied', 'expired')),
    expires_ns   INTEGER NOT NULL,
    taken        INTEGER NOT NULL DEFAULT 0,
    approval     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_call ON approvals (call, execution_id) WHERE taken = 0;
CREATE INDEX approvals_state ON approvals (state, execution_id);
CREATE INDEX approvals_waiting ON approvals (expires_ns) WHERE state = 'waiting';

-- Claims on doing something once. What they were taken for stays in the history when they are forgotten.
CREATE TABLE claims (
    key          TEXT    NOT NULL PRIMARY KEY,
    execution_id TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    expires_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX claims_expires ON claims (expires_ms);

-- What an operator set for a key, as JSON.
ALTER TABLE api_keys ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

-- Pages of one skill's name over all its versions, and of one door.
CREATE INDEX executions_name ON skill_executions (skill_name, id);
CREATE INDEX executions_door ON skill_executions (door, id);
-- Successes are the rule and found without an index; all else is rare, and has to be found among a million rows. It
-- takes the place of executions_open, so that a success costs no more to write than before.
CREATE INDEX executions_rare ON skill_executions (status, id) WHERE status <> 'success';
DROP INDEX executions_open;
