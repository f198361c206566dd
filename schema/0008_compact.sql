-- Rows take less: payloads are packed together, names are numbers, times are differences. What readers ask for keeps
-- its name and its values: generated columns take no room.
PRAGMA defer_foreign_keys = ON;

-- Payloads of one session and one commit: see store/payload.c. Those that are stored already stay as they are.
CREATE TABLE blocks (
  key        INTEGER PRIMARY KEY,             -- 128 * (events.payload / 64) + part; a block has events of one session
  body       BLOB NOT NULL                    -- a part of it: short rows fill pages better
) STRICT;

CREATE TABLE events_new (
  seq        INTEGER PRIMARY KEY,             -- order of folding; readers page by it
  id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  ord        INTEGER NOT NULL,                -- order of happening: journal order, client time when spooled (us)
  lag        INTEGER NOT NULL,                -- how much later that is than the client's wall clock (us)
  what       ANY NOT NULL,                    -- number of the kind (enum event_kind), or the name of one that has none
  session    INTEGER REFERENCES sessions(key),
  native     TEXT NOT NULL,                   -- the agent's own name; '' if it is the same
  tool       TEXT,
  tool_use_id TEXT,
  agent_id   TEXT,                            -- subagent
  marks      INTEGER NOT NULL DEFAULT 0,      -- enum event_mark
  host       TEXT,                            -- JSON; session starts only
  payload    ANY NOT NULL,                    -- JSON, redacted: TEXT, BLOB or INTEGER; payload_text() reads all three
  same_as    INTEGER,                         -- seq of the event this one doubles
  at         INTEGER AS (ord - lag),          -- client's wall clock (us)
  kind       TEXT AS (CASE what 
    WHEN 7 THEN 'PreToolUse' WHEN 10 THEN 'PostToolUse' WHEN 1 THEN 'SessionStart' WHEN 2 THEN 'SessionEnd'
    WHEN 3 THEN 'Setup' WHEN 4 THEN 'InstructionsLoaded' WHEN 5 THEN 'UserPromptSubmit'
    WHEN 6 THEN 'UserPromptExpansion' WHEN 8 THEN 'PermissionRequest' WHEN 9 THEN 'PermissionDenied'
    WHEN 11 THEN 'PostToolUseFailure' WHEN 12 THEN 'PostToolBatch' WHEN 13 THEN 'Notification'
    WHEN 14 THEN 'MessageDisplay' WHEN 15 THEN 'SubagentStart' WHEN 16 THEN 'SubagentStop' WHEN 17 THEN 'Stop'
    WHEN 18 THEN 'StopFailure' WHEN 19 THEN 'PreCompact' WHEN 20 THEN 'PostCompact' WHEN 21 THEN 'PreModelSwitch'
    WHEN 22 THEN 'PostModelSwitch' WHEN 23 THEN 'TaskCreated' WHEN 24 THEN 'TaskCompleted'
    WHEN 25 THEN 'TeammateIdle' WHEN 26 THEN 'Elicitation' WHEN 27 THEN 'ElicitationResult'
    WHEN 28 THEN 'ConfigChange' WHEN 29 THEN 'CwdChanged' WHEN 30 THEN 'FileChanged' WHEN 31 THEN 'DirectoryAdded'
    WHEN 32 THEN 'WorktreeCreate' WHEN 33 THEN 'WorktreeRemove' WHEN 34 THEN 'Interrupt' WHEN 35 THEN 'TurnComplete'
    WHEN 36 THEN 'BeforeModel' WHEN 37 THEN 'BeforeToolSelection' WHEN 38 THEN 'AfterModel'
    WHEN 39 THEN 'PostExecution' WHEN 40 THEN 'RoleWake' WHEN 41 THEN 'VoiceCallStarted'
    WHEN 42 THEN 'VoiceCallPaused' WHEN 43 THEN 'VoiceCallEnded' WHEN 44 THEN 'ModelUsage' WHEN 45 THEN 'Decision'
    WHEN 46 THEN 'Memory' WHEN 47 THEN 'Injection'
    ELSE CAST(what AS TEXT) END)  -- canonical name
) STRICT;
INSERT INTO events_new(seq, id, ord, lag, what, session, native, tool, tool_use_id, agent_id, marks, host, payload,
    same_as)
  SELECT seq, id, ord, iif(typeof(ord - at) = 'integer', ord - at, 0), CASE kind
    WHEN 'PreToolUse' THEN 7 WHEN 'PostToolUse' THEN 10 WHEN 'SessionStart' THEN 1 WHEN 'SessionEnd' THEN 2
    WHEN 'Setup' THEN 3 WHEN 'InstructionsLoaded' THEN 4 WHEN 'UserPromptSubmit' THEN 5
    WHEN 'UserPromptExpansion' THEN 6 WHEN 'PermissionRequest' THEN 8 WHEN 'PermissionDenied' THEN 9
    WHEN 'PostToolUseFailure' THEN 11 WHEN 'PostToolBatch' THEN 12 WHEN 'Notification' THEN 13
    WHEN 'MessageDisplay' THEN 14 WHEN 'SubagentStart' THEN 15 WHEN 'SubagentStop' THEN 16 WHEN 'Stop' THEN 17
    WHEN 'StopFailure' THEN 18 WHEN 'PreCompact' THEN 19 WHEN 'PostCompact' THEN 20 WHEN 'PreModelSwitch' THEN 21
    WHEN 'PostModelSwitch' THEN 22 WHEN 'TaskCreated' THEN 23 WHEN 'TaskCompleted' THEN 24
    WHEN 'TeammateIdle' THEN 25 WHEN 'Elicitation' THEN 26 WHEN 'ElicitationResult' THEN 27
    WHEN 'ConfigChange' THEN 28 WHEN 'CwdChanged' THEN 29 WHEN 'FileChanged' THEN 30 WHEN 'DirectoryAdded' THEN 31
    WHEN 'WorktreeCreate' THEN 32 WHEN 'WorktreeRemove' THEN 33 WHEN 'Interrupt' THEN 34 WHEN 'TurnComplete' THEN 35
    WHEN 'BeforeModel' THEN 36 WHEN 'BeforeToolSelection' THEN 37 WHEN 'AfterModel' THEN 38
    WHEN 'PostExecution' THEN 39 WHEN 'RoleWake' THEN 40 WHEN 'VoiceCallStarted' THEN 41
    WHEN 'VoiceCallPaused' THEN 42 WHEN 'VoiceCallEnded' THEN 43 WHEN 'ModelUsage' THEN 44 WHEN 'Decision' THEN 45
    WHEN 'Memory' THEN 46 WHEN 'Injection' THEN 47
    ELSE kind END, session, native, tool, tool_use_id, agent_id, marks, host, payload, same_as FROM events;
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
  what       ANY NOT NULL,                    -- as in events; 0 for a tool
  tool       TEXT,
  class_n    INTEGER NOT NULL DEFAULT 0,      -- enum tool_class
  agent_id   TEXT,
  input      TEXT,                            -- JSON, sanitised
  output     TEXT,                            -- at most 500 characters
  file       TEXT,                            -- relative to the project
  change     TEXT,                            -- read created modified
  state_n    INTEGER NOT NULL,
  error      TEXT,
  started_at INTEGER,
  ended_at   INTEGER,
  duration_ms INTEGER,
  kind       TEXT AS (CASE what WHEN 0 THEN 'tool'
    WHEN 7 THEN 'PreToolUse' WHEN 10 THEN 'PostToolUse' WHEN 1 THEN 'SessionStart' WHEN 2 THEN 'SessionEnd'
    WHEN 3 THEN 'Setup' WHEN 4 THEN 'InstructionsLoaded' WHEN 5 THEN 'UserPromptSubmit'
    WHEN 6 THEN 'UserPromptExpansion' WHEN 8 THEN 'PermissionRequest' WHEN 9 THEN 'PermissionDenied'
    WHEN 11 THEN 'PostToolUseFailure' WHEN 12 THEN 'PostToolBatch' WHEN 13 THEN 'Notification'
    WHEN 14 THEN 'MessageDisplay' WHEN 15 THEN 'SubagentStart' WHEN 16 THEN 'SubagentStop' WHEN 17 THEN 'Stop'
    WHEN 18 THEN 'StopFailure' WHEN 19 THEN 'PreCompact' WHEN 20 THEN 'PostCompact' WHEN 21 THEN 'PreModelSwitch'
    WHEN 22 THEN 'PostModelSwitch' WHEN 23 THEN 'TaskCreated' WHEN 24 THEN 'TaskCompleted'
    WHEN 25 THEN 'TeammateIdle' WHEN 26 THEN 'Elicitation' WHEN 27 THEN 'ElicitationResult'
    WHEN 28 THEN 'ConfigChange' WHEN 29 THEN 'CwdChanged' WHEN 30 THEN 'FileChanged' WHEN 31 THEN 'DirectoryAdded'
    WHEN 32 THEN 'WorktreeCreate' WHEN 33 THEN 'WorktreeRemove' WHEN 34 THEN 'Interrupt' WHEN 35 THEN 'TurnComplete'
    WHEN 36 THEN 'BeforeModel' WHEN 37 THEN 'BeforeToolSelection' WHEN 38 THEN 'AfterModel'
    WHEN 39 THEN 'PostExecution' WHEN 40 THEN 'RoleWake' WHEN 41 THEN 'VoiceCallStarted'
    WHEN 42 THEN 'VoiceCallPaused' WHEN 43 THEN 'VoiceCallEnded' WHEN 44 THEN 'ModelUsage' WHEN 45 THEN 'Decision'
    WHEN 46 THEN 'Memory' WHEN 47 THEN 'Injection'
    ELSE CAST(what AS TEXT) END),  -- 'tool', or the canonical name of the event
  class      TEXT AS (CASE class_n WHEN 1 THEN 'shell' WHEN 2 THEN 'read' WHEN 3 THEN 'write' WHEN 4 THEN 'search'
    WHEN 5 THEN 'web' WHEN 6 THEN 'mcp' WHEN 7 THEN 'agent' ELSE 'other' END),
  state      TEXT AS (CASE state_n WHEN 0 THEN 'started' WHEN 1 THEN 'done' WHEN 2 THEN 'failed' ELSE 'denied' END),
  UNIQUE (session, same)
) STRICT;
INSERT INTO activities_new(key, session, same, window, batch, ord, what, tool, class_n, agent_id, input, output, file,
    change, state_n, error, started_at, ended_at, duration_ms)
  SELECT key, session, iif(kind = 'tool', same, NULL), window, batch, ord, CASE kind WHEN 'tool' THEN 0
    WHEN 'PreToolUse' THEN 7 WHEN 'PostToolUse' THEN 10 WHEN 'SessionStart' THEN 1 WHEN 'SessionEnd' THEN 2
    WHEN 'Setup' THEN 3 WHEN 'InstructionsLoaded' THEN 4 WHEN 'UserPromptSubmit' THEN 5
    WHEN 'UserPromptExpansion' THEN 6 WHEN 'PermissionRequest' THEN 8 WHEN 'PermissionDenied' THEN 9
    WHEN 'PostToolUseFailure' THEN 11 WHEN 'PostToolBatch' THEN 12 WHEN 'Notification' THEN 13
    WHEN 'MessageDisplay' THEN 14 WHEN 'SubagentStart' THEN 15 WHEN 'SubagentStop' THEN 16 WHEN 'Stop' THEN 17
    WHEN 'StopFailure' THEN 18 WHEN 'PreCompact' THEN 19 WHEN 'PostCompact' THEN 20 WHEN 'PreModelSwitch' THEN 21
    WHEN 'PostModelSwitch' THEN 22 WHEN 'TaskCreated' THEN 23 WHEN 'TaskCompleted' THEN 24
    WHEN 'TeammateIdle' THEN 25 WHEN 'Elicitation' THEN 26 WHEN 'ElicitationResult' THEN 27
    WHEN 'ConfigChange' THEN 28 WHEN 'CwdChanged' THEN 29 WHEN 'FileChanged' THEN 30 WHEN 'DirectoryAdded' THEN 31
    WHEN 'WorktreeCreate' THEN 32 WHEN 'WorktreeRemove' THEN 33 WHEN 'Interrupt' THEN 34 WHEN 'TurnComplete' THEN 35
    WHEN 'BeforeModel' THEN 36 WHEN 'BeforeToolSelection' THEN 37 WHEN 'AfterModel' THEN 38
    WHEN 'PostExecution' THEN 39 WHEN 'RoleWake' THEN 40 WHEN 'VoiceCallStarted' THEN 41
    WHEN 'VoiceCallPaused' THEN 42 WHEN 'VoiceCallEnded' THEN 43 WHEN 'ModelUsage' THEN 44 WHEN 'Decision' THEN 45
    WHEN 'Memory' THEN 46 WHEN 'Injection' THEN 47
    ELSE kind END, tool,
    CASE class WHEN 'shell' THEN 1 WHEN 'read' THEN 2 WHEN 'write' THEN 3 WHEN 'search' THEN 4 WHEN 'web' THEN 5
    WHEN 'mcp' THEN 6 WHEN 'agent' THEN 7 ELSE 0 END, agent_id, input, output, file, change,
    CASE state WHEN 'started' THEN 0 WHEN 'done' THEN 1 WHEN 'failed' THEN 2 ELSE 3 END, error, started_at, ended_at,
    duration_ms FROM activities;
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

-- Nobody asks for it; sessions and events say it.
ALTER TABLE windows DROP COLUMN transcript;
