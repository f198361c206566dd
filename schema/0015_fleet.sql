-- What agents are doing, what is to be told to them, and work that waits for one.

-- Of the session's agent, by what it last told: enum agent_status. Refolding makes it anew, but for who has looked.
ALTER TABLE sessions ADD COLUMN doing INTEGER;
ALTER TABLE sessions ADD COLUMN doing_at INTEGER;            -- since when
ALTER TABLE sessions ADD COLUMN doing_for TEXT;              -- what it waits for, or what went wrong
ALTER TABLE sessions ADD COLUMN checked_at INTEGER;          -- when somebody last looked
ALTER TABLE sessions ADD COLUMN waited_us INTEGER NOT NULL DEFAULT 0; -- for its user, in all
ALTER TABLE sessions ADD COLUMN host TEXT;                   -- JSON: its process and variables, at its last start
CREATE INDEX sessions_doing ON sessions(last_at) WHERE doing > 0;

-- "Tell me when that one stops": made and changed by Fleet events, by uid.
CREATE TABLE listeners (
  uid        BLOB PRIMARY KEY CHECK (length(uid) = 16),
  teller     TEXT NOT NULL,                          -- the agent that is listened to
  told       TEXT NOT NULL,                          -- the agent that is told
  status     TEXT NOT NULL,                          -- done attention error any
  text       TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'heard', 'told', 'dropped')),
  happened   TEXT,                                   -- the status that it was about
  made_at    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX listeners_open ON listeners(made_at) WHERE state IN ('waiting', 'heard');

CREATE TABLE work (
  uid        BLOB PRIMARY KEY CHECK (length(uid) = 16),
  n          INTEGER NOT NULL,                       -- what people call it
  role       TEXT,                                   -- who may claim it; NULL: anybody
  text       TEXT NOT NULL,
  task       TEXT,                                   -- a directory
  project    INTEGER NOT NULL DEFAULT 0,
  state      TEXT NOT NULL CHECK (state IN ('needs', 'delegated', 'claimed', 'done', 'dropped')),
  asked_by   TEXT,
  claimed_by TEXT,
  result     TEXT,
  made_at    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX work_open ON work(state, n) WHERE state IN ('needs', 'delegated', 'claimed');
