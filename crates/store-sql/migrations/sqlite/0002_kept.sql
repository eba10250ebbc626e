-- Hidden rounds of turns, for later requests of the same owner and user. Rounds are found by keys; one key of one
-- scope leads to one of them. payload is the dialect's; it comes last, behind the columns that scans need.
-- An expired row holds its trace as payload, or is gone.
CREATE TABLE kept_rounds (
    id      INTEGER NOT NULL PRIMARY KEY,
    owner   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    expired INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    trace   BLOB,
    payload BLOB    NOT NULL
) STRICT;

CREATE INDEX kept_rounds_owner ON kept_rounds (owner, used_ms, bytes) WHERE expired = 0;
CREATE INDEX kept_rounds_used ON kept_rounds (expired, used_ms);

CREATE TABLE kept_keys (
    owner   TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    dialect TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    session TEXT    NOT NULL,
    rounds  INTEGER NOT NULL REFERENCES kept_rounds (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, user, dialect, key, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_keys_rounds ON kept_keys (rounds);
