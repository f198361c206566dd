-- Rows take less again: well-known tools are numbers, the times of activities and windows are differences. What readers
-- ask for keeps its name and its values, as in 0008. SQLite computes generated columns for each row that is added,
-- too: what is frequent comes first in them.
PRAGMA defer_foreign_keys = ON;

-- Those that make most calls, as in store/tools.c; each one more takes readers time. The table goes when this is done.
CREATE TABLE numbers (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO numbers(n, name) VALUES
  (1, 'Bash'), (2, 'Read'), (3, 'Edit'), (4, 'Write'), (5, 'Grep'), (6, 'Glob'), (7, 'run_shell_command'),
  (8, 'read_file'), (9, 'write_file'), (10, 'replace'), (11, 'exec_command'), (12, 'apply_patch'), (13, 'TodoWrite'),
  (14, 'TaskUpdate'), (15, 'TaskCreate'), (16, 'Agent');

CREATE TABLE events_new (
  seq        INTEGER PRIMARY KEY,             -- order of folding; readers page by it
  id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  ord        INTEGER NOT NULL,                -- order of happening: journal order, client time when spooled (us)
  lag        INTEGER NOT NULL,                -- how much later that is than the client's wall clock (us)
  what       ANY NOT NULL,                    -- number of the kind (enum event_kind), or the name of one that has none
  session    INTEGER REFERENCES sessions(key),
  native     TEXT NOT NULL,                   -- the agent's own name; '' if it is the same
  tool_n     ANY,                             -- number of the tool (store/tools.c), or the name of one that has none
  tool_use_id TEXT,
  agent_id   TEXT,                            -- subagent
  marks      INTEGER NOT NULL DEFAULT 0,      -- enum event_mark
  host       TEXT,                            -- JSON; session starts only
  payload    ANY NOT NULL,                    -- JSON, redacted: TEXT, BLOB or INTEGER; payload_text() reads all three
  same_as    INTEGER,                         -- seq of the event this one doubles
  at         INTEGER AS (ord - lag),          -- client's wall clock (us)
  kind       TEXT AS (CASE what WHEN 7 THEN 'PreToolUse' WHEN 10 THEN 'PostToolUse' WHEN 44 THEN 'ModelUsage'
    WHEN 17 THEN 'Stop' WHEN 5 THEN 'UserPromptSubmit' WHEN 1 THEN 'SessionStart' WHEN 2 THEN 'SessionEnd'
    WHEN 47 THEN 'Injection' WHEN 45 THEN 'Decision' WHEN 46 THEN 'Memory' WHEN 35 THEN 'TurnComplete'
    WHEN 11 THEN 'PostToolUseFailure' WHEN 13 THEN 'Notification' WHEN 8 THEN 'PermissionRequest'
    WHEN 16 THEN 'SubagentStop' WHEN 15 THEN 'SubagentStart' WHEN 3 THEN 'Setup' WHEN 4 THEN 'InstructionsLoaded'
    WHEN 6 THEN 'UserPromptExpansion' WHEN 9 THEN 'PermissionDenied' WHEN 12 THEN 'PostToolBatch'
    WHEN 14 THEN 'MessageDisplay' WHEN 18 THEN 'StopFailure' WHEN 19 THEN 'PreCompact' WHEN 20 THEN 'PostCompact'
    WHEN 21 THEN 'PreModelSwitch' WHEN 22 THEN 'PostModelSwitch' WHEN 23 THEN 'TaskCreated'
    WHEN 24 THEN 'TaskCompleted' WHEN 25 THEN 'TeammateIdle' WHEN 26 THEN 'Elicitation'
    WHEN 27 THEN 'ElicitationResult' WHEN 28 THEN 'ConfigChange' WHEN 29 THEN 'CwdChanged' WHEN 30 THEN 'FileChanged'
    WHEN 31 THEN 'DirectoryAdded' WHEN 32 THEN 'WorktreeCreate' WHEN 33 THEN 'WorktreeRemove'
    WHEN 34 THEN 'Interrupt' WHEN 36 THEN 'BeforeModel' WHEN 37 THEN 'BeforeToolSelection' WHEN 38 THEN 'AfterModel'
    WHEN 39 THEN 'PostExecution' WHEN 40 THEN 'RoleWake' WHEN 41 THEN 'VoiceCallStarted'
    WHEN 42 THEN 'VoiceCallPaused' WHEN 43 THEN 'VoiceCallEnded' ELSE CAST(what AS TEXT) END),  -- canonical name
  tool       TEXT AS (iif(tool_n IS NULL, NULL, CASE tool_n WHEN 1 THEN 'Bash' WHEN 2 THEN 'Read' WHEN 3 THEN 'Edit'
    WHEN 4 THEN 'Write' WHEN 5 THEN 'Grep' WHEN 6 THEN 'Glob' WHEN 7 THEN 'run_shell_command' WHEN 8 THEN 'read_file'
    WHEN 9 THEN 'write_file' WHEN 10 THEN 'replace' WHEN 11 THEN 'exec_command' WHEN 12 THEN 'apply_patch'
    WHEN 13 THEN 'TodoWrite' WHEN 14 THEN 'TaskUpdate' WHEN 15 THEN 'TaskCreate' WHEN 16 THEN 'Agent'
    ELSE CAST(tool_n AS TEXT) END))
) STRICT;
INSERT INTO events_new(seq, id, ord, lag, what, session, native, tool_n, tool_use_id, agent_id, marks, host, payload,
    same_as)
  SELECT seq, id, ord, lag, what, session, native, coalesce((SELECT n FROM numbers WHERE name = tool), tool),
    tool_use_id, agent_id, marks, host, payload, same_as FROM events;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;
CREATE INDEX events_session ON events(session, ord);
CREATE INDEX events_unfolded ON events(seq) WHERE marks & 128;

CREATE TABLE activities_new (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  same       TEXT,                            -- tool_use_id, or what else makes it the same call; NULL: it is no call
  window     INTEGER,
  batch      INTEGER,
  ord        INTEGER NOT NULL,
  lag        INTEGER,                         -- how much later that is than its beginning (us); NULL: unknown
  took       INTEGER,                         -- from its beginning, or else from ord, to its end (us)
  what       ANY NOT NULL,                    -- as in events; 0 for a tool
  tool_n     ANY,                             -- as in events
  class_n    INTEGER NOT NULL DEFAULT 0,      -- enum tool_class
  agent_id   TEXT,
  input      TEXT,                            -- JSON, sanitised
  output     TEXT,                            -- at most 500 characters
  file       TEXT,                            -- relative to the project
  change     TEXT,                            -- read created modified
  state_n    INTEGER NOT NULL,
  error      TEXT,
  duration_ms INTEGER,
  kind       TEXT AS (CASE what WHEN 0 THEN 'tool' WHEN 7 THEN 'PreToolUse' WHEN 10 THEN 'PostToolUse'
    WHEN 44 THEN 'ModelUsage' WHEN 17 THEN 'Stop' WHEN 5 THEN 'UserPromptSubmit' WHEN 1 THEN 'SessionStart'
    WHEN 2 THEN 'SessionEnd' WHEN 47 THEN 'Injection' WHEN 45 THEN 'Decision' WHEN 46 THEN 'Memory'
    WHEN 35 THEN 'TurnComplete' WHEN 11 THEN 'PostToolUseFailure' WHEN 13 THEN 'Notification'
    WHEN 8 THEN 'PermissionRequest' WHEN 16 THEN 'SubagentStop' WHEN 15 THEN 'SubagentStart' WHEN 3 THEN 'Setup'
    WHEN 4 THEN 'InstructionsLoaded' WHEN 6 THEN 'UserPromptExpansion' WHEN 9 THEN 'PermissionDenied'
    WHEN 12 THEN 'PostToolBatch' WHEN 14 THEN 'MessageDisplay' WHEN 18 THEN 'StopFailure' WHEN 19 THEN 'PreCompact'
    WHEN 20 THEN 'PostCompact' WHEN 21 THEN 'PreModelSwitch' WHEN 22 THEN 'PostModelSwitch'
    WHEN 23 THEN 'TaskCreated' WHEN 24 THEN 'TaskCompleted' WHEN 25 THEN 'TeammateIdle' WHEN 26 THEN 'Elicitation'
    WHEN 27 THEN 'ElicitationResult' WHEN 28 THEN 'ConfigChange' WHEN 29 THEN 'CwdChanged' WHEN 30 THEN 'FileChanged'
    WHEN 31 THEN 'DirectoryAdded' WHEN 32 THEN 'WorktreeCreate' WHEN 33 THEN 'WorktreeRemove'
    WHEN 34 THEN 'Interrupt' WHEN 36 THEN 'BeforeModel' WHEN 37 THEN 'BeforeToolSelection' WHEN 38 THEN 'AfterModel'
    WHEN 39 THEN 'PostExecution' WHEN 40 THEN 'RoleWake' WHEN 41 THEN 'VoiceCallStarted'
    WHEN 42 THEN 'VoiceCallPaused' WHEN 43 THEN 'VoiceCallEnded'
    ELSE CAST(what AS TEXT) END),  -- 'tool', or the canonical name of the event
  class      TEXT AS (CASE class_n WHEN 1 THEN 'shell' WHEN 2 THEN 'read' WHEN 3 THEN 'write' WHEN 4 THEN 'search'
    WHEN 5 THEN 'web' WHEN 6 THEN 'mcp' WHEN 7 THEN 'agent' ELSE 'other' END),
  state      TEXT AS (CASE state_n WHEN 0 THEN 'started' WHEN 1 THEN 'done' WHEN 2 THEN 'failed' ELSE 'denied' END),
  tool       TEXT AS (iif(tool_n IS NULL, NULL, CASE tool_n WHEN 1 THEN 'Bash' WHEN 2 THEN 'Read' WHEN 3 THEN 'Edit'
    WHEN 4 THEN 'Write' WHEN 5 THEN 'Grep' WHEN 6 THEN 'Glob' WHEN 7 THEN 'run_shell_command' WHEN 8 THEN 'read_file'
    WHEN 9 THEN 'write_file' WHEN 10 THEN 'replace' WHEN 11 THEN 'exec_command' WHEN 12 THEN 'apply_patch'
    WHEN 13 THEN 'TodoWrite' WHEN 14 THEN 'TaskUpdate' WHEN 15 THEN 'TaskCreate' WHEN 16 THEN 'Agent'
    ELSE CAST(tool_n AS TEXT) END)),
  started_at INTEGER AS (ord - lag),
  ended_at   INTEGER AS (coalesce(ord - lag, ord) + took),
  UNIQUE (session, same)
) STRICT;
INSERT INTO activities_new(key, session, same, window, batch, ord, lag, took, what, tool_n, class_n, agent_id, input,
    output, file, change, state_n, error, duration_ms)
  SELECT key, session, same, window, batch, ord, iif(typeof(ord - started_at) = 'real', 0, ord - started_at),
    iif(typeof(ended_at - coalesce(started_at, ord)) = 'real', 0, ended_at - coalesce(started_at, ord)), what,
    coalesce((SELECT n FROM numbers WHERE name = tool), tool), class_n, agent_id, input, output, file, change, state_n,
    error, duration_ms FROM activities;
DROP TABLE numbers;
-- The words of its commands stay where they are.
DROP TRIGGER words_command_gone;
DROP TABLE activities;
ALTER TABLE activities_new RENAME TO activities;
CREATE INDEX activities_batch ON activities(batch) WHERE batch IS NOT NULL;
CREATE TRIGGER words_command_gone AFTER DELETE ON activities WHEN old.class_n = 1 AND old.input ->> '$.command' <> ''
BEGIN
  INSERT INTO words(words, rowid, text)
    SELECT 'delete', id, old.input ->> '$.command' FROM texts WHERE kind = 2 AND row = old.key;
  DELETE FROM texts WHERE kind = 2 AND row = old.key;
END;

CREATE TABLE windows_new (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  ord        INTEGER NOT NULL,
  lag        INTEGER NOT NULL,                       -- how much later that is than its beginning (us)
  took       INTEGER,                                -- from there to its end (us)
  agent_id   TEXT,                                   -- a subagent's window
  agent_type TEXT,
  parent     INTEGER,                                -- the window a subagent was started from
  previous   INTEGER,                                -- the window before this one
  source     TEXT,
  model      TEXT,
  end_reason TEXT,
  message    TEXT,                                   -- a subagent's result
  started_at INTEGER AS (ord - lag),
  ended_at   INTEGER AS (ord - lag + took)
) STRICT;
INSERT INTO windows_new(key, session, ord, lag, took, agent_id, agent_type, parent, previous, source, model, end_reason,
    message)
  SELECT key, session, ord, iif(typeof(ord - started_at) = 'real', 0, ord - started_at),
    iif(typeof(ended_at - started_at) = 'real', 0, ended_at - started_at), agent_id, agent_type, parent, previous,
    source, model, end_reason, message FROM windows;
DROP TABLE windows;
ALTER TABLE windows_new RENAME TO windows;
CREATE INDEX windows_session ON windows(session, ord);
CREATE INDEX windows_agent ON windows(agent_id) WHERE agent_id IS NOT NULL;

-- Its key has the session first: no other index is needed to find a session's turns.
CREATE TABLE turns_new (
  session    INTEGER NOT NULL,
  batch      BLOB NOT NULL CHECK (length(batch) = 16),
  class      TEXT NOT NULL,                          -- exploration debugging implementation refactoring
  source     TEXT NOT NULL,                          -- rules model
  PRIMARY KEY (session, batch)
) STRICT, WITHOUT ROWID;
INSERT INTO turns_new SELECT session, batch, class, source FROM turns;
DROP TABLE turns;
ALTER TABLE turns_new RENAME TO turns;
