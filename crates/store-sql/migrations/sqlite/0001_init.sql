-- Skills, their history, API keys and small values.
-- Applied files never change: a later need is a new file.

CREATE TABLE skills (
    id              TEXT    NOT NULL PRIMARY KEY,
    api_key_id      TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    schema          TEXT    NOT NULL,
    handler         TEXT    NOT NULL,
    enabled         INTEGER NOT NULL,
    mode            TEXT    NOT NULL,
    mode_before     TEXT,
    policy          TEXT    NOT NULL,
    timeout_ms      INTEGER,
    max_retries     INTEGER,
    annotations     TEXT    NOT NULL,
    source_provider TEXT    NOT NULL,
    source_url      TEXT,
    content_sha256  TEXT,
    tags            TEXT    NOT NULL,
    install_count   INTEGER NOT NULL DEFAULT 0,
    created_at      TEXT    NOT NULL,
    updated_at      TEXT    NOT NULL,
    UNIQUE (api_key_id, name, version)
) STRICT;

CREATE INDEX skills_owner_name ON skills (api_key_id, name);

-- No foreign key to skills: deleting a skill keeps its history. The payloads come last, so that scans that only
-- need the short columns do not walk through them. created_ns is created_at in nanoseconds since 1970, because
-- RFC 3339 texts with and without a fraction do not sort as texts.
CREATE TABLE skill_executions (
    id            TEXT    NOT NULL PRIMARY KEY,
    skill_id      TEXT    NOT NULL,
    skill_name    TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    api_key_id    TEXT    NOT NULL,
    user          TEXT,
    session_id    TEXT,
    turn_id       TEXT,
    door          TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('pending', 'running', 'success', 'error', 'timeout')),
    duration_ms   INTEGER,
    attempts      INTEGER NOT NULL DEFAULT 0,
    engine        TEXT,
    isolation     TEXT,
    created_at    TEXT    NOT NULL,
    created_ns    INTEGER NOT NULL,
    error_message TEXT,
    input         TEXT    NOT NULL,
    output        TEXT,
    parts         TEXT    NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX executions_skill_status ON skill_executions (skill_id, status, created_at);
-- Ids are UUID v7: (column, id) gives newest-first pages of that column without sorting.
CREATE INDEX executions_skill ON skill_executions (skill_id, id);
CREATE INDEX executions_owner ON skill_executions (api_key_id, id);
CREATE INDEX executions_created ON skill_executions (created_ns, id);
CREATE INDEX executions_session ON skill_executions (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX executions_turn ON skill_executions (turn_id, id) WHERE turn_id IS NOT NULL;
CREATE INDEX executions_open ON skill_executions (status) WHERE status IN ('pending', 'running');

CREATE TABLE api_keys (
    id                             TEXT    NOT NULL PRIMARY KEY,
    name                           TEXT    NOT NULL,
    secret_hash                    TEXT    NOT NULL UNIQUE,
    scopes                         TEXT    NOT NULL,
    custom_skill_execution_enabled INTEGER NOT NULL,
    revoked                        INTEGER NOT NULL DEFAULT 0,
    created_at                     TEXT    NOT NULL,
    last_used_at                   TEXT
) STRICT;

CREATE TABLE kv (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
