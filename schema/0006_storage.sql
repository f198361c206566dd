-- Payloads are packed, keys of projections are made from events, and records that cannot be folded have a place.
PRAGMA defer_foreign_keys = ON;

-- The same columns in the same order, but a payload may be bytes now: see store/payload.c.
CREATE TABLE events_new (
  seq        INTEGER PRIMARY KEY,             -- order of folding; readers page by it
  id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  ord        INTEGER NOT NULL,                -- order of happening: journal order, client time when spooled (us)
  at         INTEGER NOT NULL,                -- client's wall clock (us)
  session    INTEGER REFERENCES sessions(key),
  kind       TEXT NOT NULL,                   -- canonical name
  native     TEXT NOT NULL,                   -- the agent's own name; '' if it is the same
  tool       TEXT,
  tool_use_id TEXT,
  agent_id   TEXT,                            -- subagent
  marks      INTEGER NOT NULL DEFAULT 0,      -- enum event_mark
  host       TEXT,                            -- JSON; session starts only
  payload    ANY NOT NULL,                    -- JSON, redacted: TEXT, or BLOB (packed); payload_text() reads both
  same_as    INTEGER                          -- seq of the event this one doubles
) STRICT;
INSERT INTO events_new SELECT seq, id, ord, at, session, kind, iif(native = kind, '', native), tool, tool_use_id,
  agent_id, marks, host, payload_pack(payload), same_as FROM events;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;
CREATE INDEX events_session ON events(session, ord);
-- Events that no projection was made from (EVENT_UNFOLDED), to be counted and tried again without looking at all.
CREATE INDEX events_unfolded ON events(seq) WHERE marks & 128;

-- Records that no row of events could be made from: their bytes as in the journal, until a release can.
CREATE TABLE quarantine (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  why        TEXT NOT NULL,
  release    TEXT NOT NULL,                          -- that could not
  record     BLOB NOT NULL
) STRICT;

-- From now on the key of a window, batch, activity or plan is 4 * seq + n of the event that makes it, so that folding
-- again repeats it. Rows that have not been folded again yet make room.
UPDATE windows SET key = -key, parent = -parent, previous = -previous;
UPDATE batches SET key = -key, window = -window;
UPDATE activities SET key = -key, window = -window, batch = -batch;
UPDATE plan_versions SET plan = -plan, batch = -batch;
UPDATE plans SET key = -key;
UPDATE usage SET batch = -batch;
UPDATE texts SET row = -row;
UPDATE sessions SET window = -window, batch = -batch, last_batch = -last_batch;

-- Every index costs each event bytes and time. Calls of a session are found by (session, same) as well, and few
-- batches are active at a time, whose last_at changes with every call.
DROP INDEX activities_session;
DROP INDEX batches_active;
CREATE INDEX batches_active ON batches(key) WHERE status = 'active';

-- A trigger that writes into a virtual table makes it save all it holds in memory, each time. There are too many
-- commands for that: capture/ adds their words itself.
DROP TRIGGER words_command_new;
