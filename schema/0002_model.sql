-- The full model. Projections are rebuilt from events after this (see capture/), so tables that hold
-- only those are made anew; sessions keep their keys because events refer to them.

ALTER TABLE events ADD COLUMN same_as INTEGER;      -- seq of the event this one doubles

CREATE TABLE projects (
  key        INTEGER PRIMARY KEY,
  path       TEXT NOT NULL UNIQUE,                  -- git common directory's parent, or the directory
  name       TEXT NOT NULL,
  named      INTEGER NOT NULL DEFAULT 0,            -- the user gave the name
  parent     INTEGER REFERENCES projects(key),      -- a worktree's main project
  merged     INTEGER REFERENCES projects(key),      -- only an alias: what it was merged into, or is called now
  device     INTEGER, inode INTEGER,                -- of path: a renamed folder stays one project
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX projects_inode ON projects(device, inode);
CREATE INDEX projects_merged ON projects(merged) WHERE merged IS NOT NULL;

-- Which project a directory belonged to when it was first seen: projections must not change with the disk.
CREATE TABLE directories (
  path       TEXT PRIMARY KEY,
  project    INTEGER NOT NULL REFERENCES projects(key)
) STRICT, WITHOUT ROWID;
CREATE INDEX directories_project ON directories(project);

ALTER TABLE sessions ADD COLUMN project INTEGER REFERENCES projects(key);
ALTER TABLE sessions ADD COLUMN last_ord INTEGER NOT NULL DEFAULT 0;  -- last event applied
ALTER TABLE sessions ADD COLUMN last_id BLOB;
ALTER TABLE sessions ADD COLUMN window INTEGER;      -- current window
ALTER TABLE sessions ADD COLUMN batch INTEGER;       -- open batch
ALTER TABLE sessions ADD COLUMN last_batch INTEGER;
ALTER TABLE sessions ADD COLUMN model TEXT;
ALTER TABLE sessions ADD COLUMN title TEXT;
ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;  -- before the long texts: lists filter by it
ALTER TABLE sessions ADD COLUMN end_reason TEXT;
ALTER TABLE sessions ADD COLUMN parent INTEGER;
ALTER TABLE sessions ADD COLUMN parent_reason TEXT;
ALTER TABLE sessions ADD COLUMN last_user TEXT;
ALTER TABLE sessions ADD COLUMN last_assistant TEXT;
ALTER TABLE sessions ADD COLUMN closed_by TEXT;      -- 'end', or 'janitor'
CREATE INDEX sessions_project ON sessions(project, last_at);
CREATE INDEX sessions_native ON sessions(native_id);
CREATE INDEX sessions_parent ON sessions(parent) WHERE parent IS NOT NULL;
-- Lists read it backwards and filter without touching the rows, which are long.
DROP INDEX sessions_last;
CREATE INDEX sessions_last ON sessions(last_at, hidden, project, agent, status);

CREATE TABLE windows (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  ord        INTEGER NOT NULL,
  agent_id   TEXT,                                   -- a subagent's window
  agent_type TEXT,
  parent     INTEGER,                                -- the window a subagent was started from
  previous   INTEGER,                                -- the window before this one
  source     TEXT,
  model      TEXT,
  transcript TEXT,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  end_reason TEXT,
  message    TEXT                                    -- a subagent's result
) STRICT;
CREATE INDEX windows_session ON windows(session, ord);

CREATE TABLE batches (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  window     INTEGER,
  ord        INTEGER NOT NULL,
  number     INTEGER NOT NULL,                       -- counts private prompts too
  source     TEXT NOT NULL,                          -- user plan derived_plan agent_notification system
  prompt     TEXT,
  prompt_id  TEXT,
  prompt_hash BLOB,
  length     INTEGER NOT NULL DEFAULT 0,             -- of the prompt, in characters
  mode       TEXT,                                   -- permission mode
  attachments INTEGER NOT NULL DEFAULT 0,
  private    INTEGER NOT NULL DEFAULT 0,
  status     TEXT NOT NULL DEFAULT 'active',
  closed_by  TEXT,                                   -- stop prompt window end janitor failure
  started_at INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  ended_at   INTEGER,
  response   TEXT,
  late       INTEGER NOT NULL DEFAULT 0,             -- the response came after the batch was closed
  activities INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batches_session ON batches(session, ord);
CREATE INDEX batches_prompt ON batches(session, prompt_id);
CREATE INDEX batches_active ON batches(status, last_at) WHERE status = 'active';

DROP TABLE activities;
CREATE TABLE activities (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  same       TEXT NOT NULL,                          -- tool_use_id, or what else makes it the same happening
  window     INTEGER,
  batch      INTEGER,
  ord        INTEGER NOT NULL,
  kind       TEXT NOT NULL,                          -- 'tool', or the canonical name of the event
  tool       TEXT,
  class      TEXT NOT NULL DEFAULT 'other',
  agent_id   TEXT,
  input      TEXT,                                   -- JSON, sanitised
  output     TEXT,                                   -- at most 500 characters
  file       TEXT,                                   -- relative to the project
  change     TEXT,                                   -- read created modified
  state      TEXT NOT NULL,                          -- started done failed denied
  error      TEXT,
  started_at INTEGER,
  ended_at   INTEGER,
  duration_ms INTEGER,
  UNIQUE (session, same)
) STRICT;
CREATE INDEX activities_batch ON activities(batch, ord);
CREATE INDEX activities_session ON activities(session, ord);

CREATE TABLE plans (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  path       TEXT NOT NULL,                          -- the file, or 'prompt:<hash>'
  title      TEXT,
  ord        INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (session, path)
) STRICT;
CREATE INDEX plans_updated ON plans(updated_at);

CREATE TABLE plan_versions (
  plan       INTEGER NOT NULL REFERENCES plans(key) ON DELETE CASCADE,
  version    INTEGER NOT NULL,
  ord        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  source     TEXT NOT NULL,                          -- write edit read approved prompt
  batch      INTEGER,
  content    TEXT NOT NULL,
  PRIMARY KEY (plan, version)
) STRICT, WITHOUT ROWID;

-- What the user confirmed or asked to keep, and what recovery did; small facts about the store itself.
CREATE TABLE facts (
  name       TEXT PRIMARY KEY,
  value      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

DROP INDEX events_session;
CREATE INDEX events_session ON events(session, ord, id);
