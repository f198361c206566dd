-- events: everything acknowledged, one row each, keyed by the ULID made in hookc. Everything below is
-- a projection of it and can be rebuilt.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY,             -- order of folding; readers page by it
  id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  ord        INTEGER NOT NULL,                -- order of happening: journal order, client time when spooled (us)
  at         INTEGER NOT NULL,                -- client's wall clock (us)
  session    INTEGER REFERENCES sessions(key),
  kind       TEXT NOT NULL,                   -- canonical name
  native     TEXT NOT NULL,                   -- the agent's own name
  tool       TEXT,
  tool_use_id TEXT,
  agent_id   TEXT,                            -- subagent
  marks      INTEGER NOT NULL DEFAULT 0,      -- enum event_mark
  host       TEXT,                            -- JSON; session starts only
  payload    TEXT NOT NULL                    -- JSON, redacted
) STRICT;
CREATE INDEX events_session ON events(session, ord);

-- sessions: one per (agent, native id).
CREATE TABLE sessions (
  key        INTEGER PRIMARY KEY,
  agent      TEXT NOT NULL,
  native_id  TEXT NOT NULL,
  cwd        TEXT,                            -- of the earliest event that names one
  transcript TEXT,                            -- of the latest event that names one
  status     TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed')),
  started_at INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  ended_at   INTEGER,
  events     INTEGER NOT NULL DEFAULT 0,
  prompts    INTEGER NOT NULL DEFAULT 0,
  tools      INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent, native_id)
) STRICT;
CREATE INDEX sessions_last ON sessions(last_at);

-- activities: one per tool call, whichever of its events came first.
CREATE TABLE activities (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  tool_use_id TEXT NOT NULL,
  tool       TEXT,
  class      TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('started', 'done', 'failed')),
  started_at INTEGER,
  ended_at   INTEGER,
  UNIQUE (session, tool_use_id)
) STRICT;

-- journal: how far each segment has been folded. identity tells a segment from another one that
-- happens to carry its number.
CREATE TABLE journal (
  segment    INTEGER PRIMARY KEY,
  identity   INTEGER NOT NULL,
  offset     INTEGER NOT NULL
) STRICT;
