-- Everything that is kept, as the migrations of the other database leave it. Applied files never change: a later need
-- is a new file.
--
-- Texts that are compared or ordered have the collation "C", so that their order is that of their bytes, whatever the
-- server's locale. JSON is text, as it was written. created_ns is created_at in nanoseconds since 1970: finer than
-- PostgreSQL's own times, and the order of lists, with the id behind it. Texts that clients choose and that have no
-- bound are indexed by their beginning, because an index entry has a largest size.

CREATE TABLE skills (
    id              text COLLATE "C" NOT NULL PRIMARY KEY,
    api_key_id      text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    version         text COLLATE "C" NOT NULL,
    description     text    NOT NULL,
    schema          text    NOT NULL,
    handler         text    NOT NULL,
    enabled         boolean NOT NULL,
    mode            text    NOT NULL,
    mode_before     text,
    policy          text    NOT NULL,
    timeout_ms      bigint,
    max_retries     bigint,
    annotations     text    NOT NULL,
    source_provider text    NOT NULL,
    source_url      text,
    content_sha256  text,
    tags            text    NOT NULL,
    install_count   bigint  NOT NULL DEFAULT 0,
    created_at      text    NOT NULL,
    updated_at      text    NOT NULL,
    UNIQUE (api_key_id, name, version)
);

CREATE TABLE skill_sets (
    name       text COLLATE "C" NOT NULL PRIMARY KEY,
    skills     text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE skill_defaults (
    api_key_id         text COLLATE "C" NOT NULL,
    name               text COLLATE "C" NOT NULL,
    version_constraint text NOT NULL,
    PRIMARY KEY (api_key_id, name)
);

-- No foreign key to skills: deleting a skill keeps its history. bytes is what input, output, parts and message take.
CREATE TABLE skill_executions (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    skill_id      text COLLATE "C" NOT NULL,
    skill_name    text COLLATE "C" NOT NULL,
    version       text COLLATE "C" NOT NULL,
    api_key_id    text COLLATE "C" NOT NULL,
    "user"        text,
    session_id    text COLLATE "C",
    turn_id       text COLLATE "C",
    door          text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'running', 'success', 'error', 'timeout')),
    duration_ms   bigint,
    attempts      bigint NOT NULL DEFAULT 0,
    engine        text,
    isolation     text,
    created_at    text   NOT NULL,
    created_ns    bigint NOT NULL,
    error_message text,
    input         text   NOT NULL,
    output        text,
    parts         text   NOT NULL DEFAULT '[]',
    bytes         bigint NOT NULL,
    instance      text COLLATE "C"
);

CREATE INDEX executions_created ON skill_executions (created_ns, id) INCLUDE (bytes);
CREATE INDEX executions_skill ON skill_executions (skill_id, created_ns, id);
CREATE INDEX executions_owner ON skill_executions (api_key_id, created_ns, id);
CREATE INDEX executions_name ON skill_executions (skill_name, created_ns, id);
CREATE INDEX executions_door ON skill_executions (door, created_ns, id);
CREATE INDEX executions_session ON skill_executions (left(session_id, 64), created_ns, id) WHERE session_id IS NOT NULL;
CREATE INDEX executions_turn ON skill_executions (turn_id, created_ns, id) WHERE turn_id IS NOT NULL;
-- Successes are the rule and found without an index; all else is rare, and has to be found among a million rows.
CREATE INDEX executions_rare ON skill_executions (status, created_ns, id) WHERE status <> 'success';

-- What persons decide about executions. approval is the JSON that the API shows, the other columns are for look-ups.
-- taken: its outcome was handed to a model.
CREATE TABLE approvals (
    execution_id text COLLATE "C" NOT NULL PRIMARY KEY,
    call         text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'approved', 'denied', 'expired')),
    expires_ns   bigint  NOT NULL,
    taken        boolean NOT NULL DEFAULT false,
    approval     text    NOT NULL
);

CREATE INDEX approvals_call ON approvals (left(call, 64), execution_id) WHERE NOT taken;
CREATE INDEX approvals_state ON approvals (state, execution_id);
CREATE INDEX approvals_waiting ON approvals (expires_ns) WHERE state = 'waiting';

-- Claims on doing something once. What they were taken for stays in the history when they are forgotten.
CREATE TABLE claims (
    key          text COLLATE "C" NOT NULL PRIMARY KEY,
    execution_id text COLLATE "C" NOT NULL,
    fingerprint  text   NOT NULL,
    expires_ms   bigint NOT NULL
);

CREATE INDEX claims_expires ON claims (expires_ms);
CREATE INDEX claims_execution ON claims (execution_id);

CREATE TABLE api_keys (
    id                             text COLLATE "C" NOT NULL PRIMARY KEY,
    name                           text    NOT NULL,
    secret_hash                    text COLLATE "C" NOT NULL UNIQUE,
    scopes                         text    NOT NULL,
    custom_skill_execution_enabled boolean NOT NULL,
    revoked                        boolean NOT NULL DEFAULT false,
    settings                       text    NOT NULL DEFAULT '{}',
    created_at                     text    NOT NULL,
    last_used_at                   text
);

CREATE TABLE management_tokens (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    name         text COLLATE "C" NOT NULL UNIQUE,
    secret_hash  text COLLATE "C" NOT NULL UNIQUE,
    scopes       text NOT NULL,
    created_at   text NOT NULL,
    last_used_at text
);

CREATE TABLE kv (
    name  text COLLATE "C" NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- Hidden rounds of turns, for later requests of the same owner and user. Rounds are found by keys; one key of one scope
-- leads to one of them. An expired row holds its trace as payload, or is gone.
CREATE TABLE kept_rounds (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   text COLLATE "C" NOT NULL,
    session text    NOT NULL,
    expired boolean NOT NULL,
    used_ms bigint  NOT NULL,
    bytes   bigint  NOT NULL,
    trace   bytea,
    payload bytea   NOT NULL
);

CREATE INDEX kept_rounds_owner ON kept_rounds (owner, used_ms, id) INCLUDE (bytes) WHERE NOT expired;
CREATE INDEX kept_rounds_used ON kept_rounds (expired, used_ms);

-- place is the sha256 over owner, user, dialect and key, session_hash that of the session: whatever their lengths, the
-- entries of the index are short.
CREATE TABLE kept_keys (
    place        text COLLATE "C" NOT NULL,
    session_hash text COLLATE "C" NOT NULL,
    rounds       bigint NOT NULL REFERENCES kept_rounds (id) ON DELETE CASCADE,
    PRIMARY KEY (place, session_hash)
);

CREATE INDEX kept_keys_rounds ON kept_keys (rounds);

-- summary is the JSON that lists show, details what is beside it in the whole record.
CREATE TABLE turns (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    api_key_id    text COLLATE "C" NOT NULL,
    session_id    text COLLATE "C",
    model         text COLLATE "C" NOT NULL,
    stop_reason   text COLLATE "C" NOT NULL,
    failed        boolean NOT NULL,
    input_tokens  bigint NOT NULL,
    output_tokens bigint NOT NULL,
    executions    bigint NOT NULL,
    duration_ms   bigint NOT NULL,
    created_ns    bigint NOT NULL,
    summary       text   NOT NULL,
    details       text   NOT NULL
);

CREATE INDEX turns_created ON turns (created_ns, id);
CREATE INDEX turns_owner ON turns (api_key_id, created_ns, id);
CREATE INDEX turns_model ON turns (left(model, 64), created_ns, id);
CREATE INDEX turns_session ON turns (left(session_id, 64), created_ns, id) WHERE session_id IS NOT NULL;
CREATE INDEX turns_stopped ON turns (stop_reason, created_ns, id) WHERE stop_reason <> 'completed';

-- seq is the order of writing.
CREATE TABLE artifacts (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    execution_id text COLLATE "C" NOT NULL,
    api_key_id   text COLLATE "C" NOT NULL,
    name         text   NOT NULL,
    mime         text   NOT NULL,
    bytes        bigint NOT NULL,
    sha256       text   NOT NULL,
    created_at   text   NOT NULL,
    created_ns   bigint NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    content      bytea  NOT NULL
);

-- Files are packed already more often than not.
ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX artifacts_execution ON artifacts (execution_id, seq);
CREATE INDEX artifacts_created ON artifacts (created_ns, seq);

CREATE TABLE audit (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    actor      text COLLATE "C" NOT NULL,
    action     text COLLATE "C" NOT NULL,
    target     text COLLATE "C" NOT NULL,
    request_id text,
    created_at text   NOT NULL,
    created_ns bigint NOT NULL,
    seq        bigint GENERATED ALWAYS AS IDENTITY,
    before     text,
    after      text
);

CREATE INDEX audit_created ON audit (created_ns, seq);
CREATE INDEX audit_actor ON audit (left(actor, 64), created_ns, seq);
CREATE INDEX audit_action ON audit (left(action, 64), created_ns, seq);
CREATE INDEX audit_target ON audit (left(target, 64), created_ns, seq);

-- What was written stays as it was written.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit table is append-only';
END
$$;
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();

-- Processes on this database. Each holds the session lock lock_key while its connection lives, and says now and then
-- that it is there; a lock that is free is no death while it was seen a moment ago.
CREATE TABLE instances (
    id       text COLLATE "C" NOT NULL PRIMARY KEY,
    lock_key bigint      NOT NULL,
    seen     timestamptz NOT NULL
);

-- Says to other processes that something changed that they hold in memory, and who did it. Many rows of one transaction
-- are one message. Notes on when a key or a token was used last are no change.
CREATE FUNCTION omni_skills_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('omni_skills_changed',
        concat(current_setting('omni_skills.writer', true), ' ', TG_TABLE_SCHEMA));
    RETURN NULL;
END
$$;

CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON skills
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON skill_sets
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON skill_defaults
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON kv
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
CREATE TRIGGER changed AFTER INSERT OR DELETE
    OR UPDATE OF name, secret_hash, scopes, custom_skill_execution_enabled, revoked, settings ON api_keys
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF name, secret_hash, scopes ON management_tokens
    FOR EACH ROW EXECUTE FUNCTION omni_skills_changed();
