-- History and search: what transcripts tell, tokens, and an index over words.

-- One row per answer of a model; only transcripts know it.
CREATE TABLE usage (
  session    INTEGER NOT NULL REFERENCES sessions(key),
  id         TEXT NOT NULL,                          -- the answer's own id
  at         INTEGER NOT NULL,
  batch      INTEGER,
  agent_id   TEXT,                                   -- subagent
  model      TEXT,
  input      INTEGER NOT NULL DEFAULT 0,             -- tokens that were not cached
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  output     INTEGER NOT NULL DEFAULT 0,             -- with reasoning
  reasoning  INTEGER NOT NULL DEFAULT 0,             -- of output
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_at ON usage(at);
CREATE INDEX usage_id ON usage(id);                  -- a resumed session may repeat what another one had

-- How far each transcript has been read, and for what: 'import' takes everything, 'tokens' only those of sessions
-- that hooks tell about live. state is the reader's own; identity tells a file from its successor.
CREATE TABLE transcripts (
  path       TEXT NOT NULL,
  purpose    TEXT NOT NULL,
  agent      TEXT NOT NULL,
  identity   TEXT NOT NULL,
  offset     INTEGER NOT NULL,
  state      TEXT NOT NULL DEFAULT '',
  lines      INTEGER NOT NULL DEFAULT 0,
  broken     INTEGER NOT NULL DEFAULT 0,
  read_at    INTEGER NOT NULL,
  PRIMARY KEY (path, purpose)
) STRICT, WITHOUT ROWID;

-- Imported events came that belong before others: to be folded again when the import is over.
ALTER TABLE sessions ADD COLUMN unsettled INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_unsettled ON sessions(key) WHERE unsettled;

CREATE INDEX windows_agent ON windows(agent_id) WHERE agent_id IS NOT NULL;

-- The words of prompts, answers, commands and plans. The texts stay where they are: the row's number is the
-- key of its text times four, plus what it is (0 prompt, 1 answer, 2 command, 3 plan). Triggers keep it in
-- step, so whatever makes or deletes a row need not know about it.
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize="unicode61 remove_diacritics 2");

CREATE TRIGGER words_prompt_new AFTER INSERT ON batches WHEN new.prompt_hash IS NOT NULL AND new.prompt <> ''
BEGIN INSERT INTO words(rowid, text) VALUES (new.key * 4, new.prompt); END;
CREATE TRIGGER words_prompt_gone AFTER DELETE ON batches WHEN old.prompt_hash IS NOT NULL AND old.prompt <> ''
BEGIN INSERT INTO words(words, rowid, text) VALUES ('delete', old.key * 4, old.prompt); END;

CREATE TRIGGER words_answer_new AFTER INSERT ON batches WHEN new.response <> ''
BEGIN INSERT INTO words(rowid, text) VALUES (new.key * 4 + 1, new.response); END;
CREATE TRIGGER words_answer_changed AFTER UPDATE OF response ON batches
  WHEN old.response IS NOT new.response
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', old.key * 4 + 1, old.response WHERE old.response <> '';
  INSERT INTO words(rowid, text) SELECT new.key * 4 + 1, new.response WHERE new.response <> '';
END;
CREATE TRIGGER words_answer_gone AFTER DELETE ON batches WHEN old.response <> ''
BEGIN INSERT INTO words(words, rowid, text) VALUES ('delete', old.key * 4 + 1, old.response); END;

CREATE TRIGGER words_command_new AFTER INSERT ON activities WHEN new.class = 'shell' AND new.input ->> '$.command' <> ''
BEGIN INSERT INTO words(rowid, text) VALUES (new.key * 4 + 2, new.input ->> '$.command'); END;
CREATE TRIGGER words_command_gone AFTER DELETE ON activities WHEN old.class = 'shell' AND old.input ->> '$.command' <> ''
BEGIN INSERT INTO words(words, rowid, text) VALUES ('delete', old.key * 4 + 2, old.input ->> '$.command'); END;

ALTER TABLE plans ADD COLUMN text TEXT;              -- of its newest version
UPDATE plans SET text = (SELECT content FROM plan_versions WHERE plan = plans.key ORDER BY version DESC LIMIT 1);
CREATE TRIGGER words_plan_changed AFTER UPDATE OF text ON plans WHEN old.text IS NOT new.text
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', old.key * 4 + 3, old.text WHERE old.text <> '';
  INSERT INTO words(rowid, text) SELECT new.key * 4 + 3, new.text WHERE new.text <> '';
END;
CREATE TRIGGER words_plan_gone AFTER DELETE ON plans WHEN old.text <> ''
BEGIN INSERT INTO words(words, rowid, text) VALUES ('delete', old.key * 4 + 3, old.text); END;

-- What is there already.
INSERT INTO words(rowid, text) SELECT key * 4, prompt FROM batches WHERE prompt_hash IS NOT NULL AND prompt <> '';
INSERT INTO words(rowid, text) SELECT key * 4 + 1, response FROM batches WHERE response <> '';
INSERT INTO words(rowid, text) SELECT key * 4 + 2, input ->> '$.command' FROM activities
  WHERE class = 'shell' AND input ->> '$.command' <> '';
INSERT INTO words(rowid, text) SELECT key * 4 + 3, text FROM plans WHERE text <> '';
