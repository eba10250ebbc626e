-- Sets and defaults of names, turns, artifacts, the audit table, management tokens, which process runs what, and how
-- processes learn that another one changed something.

CREATE TABLE skill_sets (
    name       TEXT NOT NULL PRIMARY KEY,
    skills     TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_defaults (
    api_key_id         TEXT NOT NULL,
    name               TEXT NOT NULL,
    version_constraint TEXT NOT NULL,
    PRIMARY KEY (api_key_id, name)
) STRICT, WITHOUT ROWID;

-- summary is the JSON that lists show, details what is beside it in the whole record. They come last, behind what scans
-- need.
CREATE TABLE turns (
    id            TEXT    NOT NULL PRIMARY KEY,
    api_key_id    TEXT    NOT NULL,
    session_id    TEXT,
    model         TEXT    NOT NULL,
    stop_reason   TEXT    NOT NULL,
    failed        INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    executions    INTEGER NOT NULL,
    duration_ms   INTEGER NOT NULL,
    created_ns    INTEGER NOT NULL,
    summary       TEXT    NOT NULL,
    details       TEXT    NOT NULL
) STRICT;

CREATE INDEX turns_created ON turns (created_ns);
CREATE INDEX turns_owner ON turns (api_key_id, created_ns);
CREATE INDEX turns_model ON turns (model, created_ns);
CREATE INDEX turns_session ON turns (session_id, created_ns) WHERE session_id IS NOT NULL;
CREATE INDEX turns_stopped ON turns (stop_reason, created_ns) WHERE stop_reason <> 'completed';

CREATE TABLE artifacts (
    id           TEXT    NOT NULL PRIMARY KEY,
    execution_id TEXT    NOT NULL,
    api_key_id   TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    mime         TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    sha256       TEXT    NOT NULL,
    created_at   TEXT    NOT NULL,
    created_ns   INTEGER NOT NULL,
    content      BLOB    NOT NULL
) STRICT;

CREATE INDEX artifacts_execution ON artifacts (execution_id);
CREATE INDEX artifacts_created ON artifacts (created_ns, bytes);

CREATE TABLE audit (
    id         TEXT    NOT NULL PRIMARY KEY,
    actor      TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    request_id TEXT,
    created_at TEXT    NOT NULL,
    created_ns INTEGER NOT NULL,
    before     TEXT,
    after      TEXT
) STRICT;

CREATE INDEX audit_created ON audit (created_ns);
CREATE INDEX audit_actor ON audit (actor, created_ns);
CREATE INDEX audit_action ON audit (action, created_ns);
CREATE INDEX audit_target ON audit (target, created_ns);

-- What was written stays as it was written. The insert trigger is there because REPLACE removes a row without asking
-- the delete trigger; it leaves the old row and writes nothing.
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
    BEGIN SELECT RAISE(IGNORE); END;

CREATE TABLE management_tokens (
    id           TEXT NOT NULL PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    secret_hash  TEXT NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    last_used_at TEXT
) STRICT, WITHOUT ROWID;

-- The process that runs it; absent in rows of older releases.
ALTER TABLE skill_executions ADD COLUMN instance TEXT;

-- Newest first means by time, and rows of one time by the order in which they were written, which is rowid, the hidden
-- last column of every index. So every filter is one index, a bound of time is a range in it, and entries are short. Further
-- columns are what is often asked for together with the first one: they are looked at without reading the row, and cost
-- only that rows of one moment are sorted.
DROP INDEX executions_skill;
DROP INDEX executions_owner;
DROP INDEX executions_created;
DROP INDEX executions_session;
DROP INDEX executions_turn;
DROP INDEX executions_name;
DROP INDEX executions_door;
DROP INDEX executions_rare;
CREATE INDEX executions_skill ON skill_executions (skill_id, created_ns, api_key_id);
CREATE INDEX executions_owner ON skill_executions (api_key_id, created_ns, door);
CREATE INDEX executions_created ON skill_executions (created_ns);
CREATE INDEX executions_session ON skill_executions (session_id, created_ns) WHERE session_id IS NOT NULL;
CREATE INDEX executions_turn ON skill_executions (turn_id, created_ns) WHERE turn_id IS NOT NULL;
CREATE INDEX executions_name ON skill_executions (skill_name, created_ns, api_key_id);
CREATE INDEX executions_door ON skill_executions (door, created_ns);
CREATE INDEX executions_rare ON skill_executions (status, created_ns, api_key_id, skill_id, skill_name)
    WHERE status <> 'success';

-- When its execution was created, so that pages of one state come from an index in their order too.
ALTER TABLE approvals ADD COLUMN asked_ns INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET asked_ns =
    coalesce((SELECT created_ns FROM skill_executions WHERE id = execution_id), 0);
DROP INDEX approvals_state;
CREATE INDEX approvals_state ON approvals (state, asked_ns);

-- How often something was changed that processes hold in memory. When it moves by more than a process's own changes,
-- that process reads again. Notes on when a key or a token was used last are no change.
CREATE TABLE changes (
    only   INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO changes VALUES (1, 0);

CREATE TRIGGER changed_skills_i AFTER INSERT ON skills BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_skills_u AFTER UPDATE ON skills BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_skills_d AFTER DELETE ON skills BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_sets_i AFTER INSERT ON skill_sets BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_sets_u AFTER UPDATE ON skill_sets BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_sets_d AFTER DELETE ON skill_sets BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_defaults_i AFTER INSERT ON skill_defaults BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_defaults_u AFTER UPDATE ON skill_defaults BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_defaults_d AFTER DELETE ON skill_defaults BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_keys_i AFTER INSERT ON api_keys BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_keys_u
    AFTER UPDATE OF name, secret_hash, scopes, custom_skill_execution_enabled, revoked, settings ON api_keys
    BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_keys_d AFTER DELETE ON api_keys BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_tokens_i AFTER INSERT ON management_tokens BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_tokens_u AFTER UPDATE OF name, secret_hash, scopes ON management_tokens
    BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_tokens_d AFTER DELETE ON management_tokens BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_values_i AFTER INSERT ON kv BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_values_u AFTER UPDATE ON kv BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER changed_values_d AFTER DELETE ON kv BEGIN UPDATE changes SET number = number + 1; END;
