-- Work that survives the context window. Rows are made and changed by Effort events, by uid; refolding sessions never
-- touches them, and neither does retention.
CREATE TABLE tasks (
  path       TEXT PRIMARY KEY,                       -- a directory
  project    INTEGER NOT NULL DEFAULT 0,
  title      TEXT,
  text       TEXT,
  keywords   TEXT,                                   -- JSON array
  gates      TEXT,                                   -- JSON: what is asked of every agent that works in it
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_project ON tasks(project);

CREATE TABLE efforts (
  uid        BLOB PRIMARY KEY CHECK (length(uid) = 16),
  task       TEXT NOT NULL,
  project    INTEGER NOT NULL DEFAULT 0,
  root       TEXT,                                   -- of the project, when the effort began
  agent      TEXT,                                   -- whose it is: AGENT_ID; NULL: of whoever works there
  skill      TEXT NOT NULL,
  mode       TEXT,
  ordinal    INTEGER NOT NULL,                       -- among the efforts of its task, from 1 on
  state      TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'finished')),
  phase      TEXT,
  goal       TEXT,
  result     TEXT,
  config     TEXT,                                   -- JSON: the skill as it was read when the effort began
  metadata   TEXT,                                   -- JSON
  checkpoint TEXT,                                   -- JSON: what an agent or a person wrote
  checkpoint_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  last_ord   INTEGER NOT NULL,                       -- of the last event that was applied
  last_id    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX efforts_task ON efforts(task, ordinal);
CREATE INDEX efforts_project ON efforts(project, created_at);
CREATE INDEX efforts_active ON efforts(updated_at) WHERE state = 'active';

CREATE TABLE effort_phases (
  effort     BLOB NOT NULL,
  n          INTEGER NOT NULL,                       -- in the order they were entered, from 1 on
  label      TEXT NOT NULL,
  reason     TEXT,                                   -- why it was not the next one's turn
  proof      TEXT,                                   -- JSON, of the phase before
  at         INTEGER NOT NULL,
  PRIMARY KEY (effort, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE effort_artifacts (
  effort     BLOB NOT NULL,
  type       TEXT NOT NULL,                          -- LOG, PLAN, DEBRIEF …
  path       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (effort, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE effort_directives (
  effort     BLOB NOT NULL,
  path       TEXT NOT NULL,
  hash       TEXT,                                   -- of its contents when it was found
  processed  TEXT,                                   -- of its contents when it was worked through
  proof      TEXT,
  at         INTEGER NOT NULL,
  processed_at INTEGER,
  PRIMARY KEY (effort, path)
) STRICT, WITHOUT ROWID;

-- A window of an agent, or of a subagent, in which an effort went on; named by the ULID of its first event.
CREATE TABLE effort_windows (
  id         BLOB PRIMARY KEY CHECK (length(id) = 16),
  effort     BLOB NOT NULL,
  agent      TEXT NOT NULL,
  session    TEXT NOT NULL,                          -- the agent's own id
  agent_id   TEXT,                                   -- a subagent's
  previous   BLOB,
  source     TEXT,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  end_reason TEXT,
  checkpoint TEXT                                    -- JSON: what the agent handed over at its end
) STRICT, WITHOUT ROWID;
CREATE INDEX effort_windows_effort ON effort_windows(effort, started_at);
CREATE INDEX effort_windows_session ON effort_windows(session, started_at);

-- What a window was given to read, and what it read itself.
CREATE TABLE effort_loads (
  effort     BLOB NOT NULL,
  path       TEXT NOT NULL,
  window     BLOB,                                   -- the last one
  at         INTEGER NOT NULL,
  PRIMARY KEY (effort, path)
) STRICT, WITHOUT ROWID;

-- What was said and what went wrong: the log, questions with their answers, failures, tasks that were done.
CREATE TABLE effort_messages (
  key        INTEGER PRIMARY KEY,                    -- 4 * seq of its event
  effort     BLOB NOT NULL,
  kind       TEXT NOT NULL,                          -- log dialogue failure task report
  phase      TEXT,
  text       TEXT NOT NULL,
  data       TEXT,                                   -- JSON
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX effort_messages_effort ON effort_messages(effort, key);
