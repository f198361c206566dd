-- What was learned. Rows are made and changed by Memory events, by uid; refolding sessions never touches them.
CREATE TABLE memories (
  key        INTEGER PRIMARY KEY,                    -- 4 * seq of the event that made it
  uid        BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  project    INTEGER NOT NULL DEFAULT 0,             -- 0: for all projects
  type       TEXT NOT NULL,
  text       TEXT NOT NULL,
  file       TEXT,                                   -- what it is about: a path relative to the project, or a place
  concepts   TEXT,                                   -- JSON array
  importance INTEGER NOT NULL DEFAULT 5,             -- 1 to 10
  status     TEXT NOT NULL DEFAULT 'active',         -- active resolved superseded quarantined
  trust      TEXT NOT NULL,                          -- user agent tool web: whose words these are
  origin     TEXT NOT NULL,                          -- remember import correction fix plan message file commit llm
  session    INTEGER,
  batch      BLOB,                                   -- ULID of its first event
  ref        TEXT,                                   -- the name it has where it was imported from
  thread     TEXT,                                   -- the conversation it is a piece of
  hash       BLOB NOT NULL,                          -- of what makes it the same memory
  pinned     INTEGER NOT NULL DEFAULT 0,
  muted      INTEGER NOT NULL DEFAULT 0,
  successor  BLOB,                                   -- uid of what superseded it
  reason     TEXT,                                   -- of its status
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  shown      INTEGER NOT NULL DEFAULT 0,             -- how often it was injected, and used afterwards
  used       INTEGER NOT NULL DEFAULT 0,
  shown_at   INTEGER,
  used_at    INTEGER,
  change     INTEGER NOT NULL                        -- seq of the event that last changed what is indexed
) STRICT;
CREATE UNIQUE INDEX memories_same ON memories(project, hash);
CREATE INDEX memories_change ON memories(project, change);
-- What the start of a session is given.
CREATE INDEX memories_first ON memories(project, pinned DESC, importance DESC, created_at DESC, key)
  WHERE status = 'active' AND NOT muted AND ref IS NULL;
CREATE INDEX memories_file ON memories(project, file) WHERE file IS NOT NULL;
CREATE INDEX memories_session ON memories(session) WHERE session IS NOT NULL;

CREATE TABLE memory_links (
  source     BLOB NOT NULL,
  kind       TEXT NOT NULL,                          -- supersedes merges
  target     BLOB NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (source, kind, target)
) STRICT, WITHOUT ROWID;

-- The ledger: each item that was added to a conversation. What it is about is named by uid, which outlives rows.
CREATE TABLE injections (
  event      BLOB NOT NULL,                          -- ULID of the event it was the answer to
  item       BLOB NOT NULL,                          -- uid of the memory
  session    INTEGER NOT NULL,
  kind       TEXT NOT NULL,                          -- of the event
  rank       INTEGER NOT NULL,
  score      REAL NOT NULL,
  confidence REAL NOT NULL,
  tokens     INTEGER NOT NULL,
  ord        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  used_at    INTEGER,                                -- when something showed that it was of use
  PRIMARY KEY (event, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX injections_session ON injections(session, ord);
CREATE INDEX injections_item ON injections(item);

-- Batches whose memories have not been looked for.
CREATE TABLE extracted (
  session    INTEGER PRIMARY KEY REFERENCES sessions(key),
  ord        INTEGER NOT NULL                        -- of the last batch that was looked at
) STRICT;
