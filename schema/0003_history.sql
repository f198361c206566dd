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

-- The words of prompts, answers, commands and plans. The texts stay where they are; `texts` numbers them in the order
-- they came, so that a search can take the newest first, and says whose they are. Triggers keep both in step, so
-- whatever makes or deletes a row need not know about them.
CREATE TABLE texts (
  id         INTEGER PRIMARY KEY,
  kind       INTEGER NOT NULL,                       -- 0 prompt, 1 answer, 2 command, 3 plan
  row        INTEGER NOT NULL,                       -- key in batches, activities or plans
  UNIQUE (kind, row)
) STRICT;
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize="unicode61 remove_diacritics 2");

CREATE TRIGGER words_prompt_new AFTER INSERT ON batches WHEN new.prompt_hash IS NOT NULL AND new.prompt <> ''
BEGIN
  INSERT INTO texts(kind, row) VALUES (0, new.key);
  INSERT INTO words(rowid, text) SELECT id, new.prompt FROM texts WHERE kind = 0 AND row = new.key;
END;
-- A turn that was told late has its prompt late.
CREATE TRIGGER words_prompt_named AFTER UPDATE OF prompt_hash ON batches
  WHEN old.prompt_hash IS NULL AND new.prompt_hash IS NOT NULL AND new.prompt <> ''
BEGIN
  INSERT INTO texts(kind, row) VALUES (0, new.key);
  INSERT INTO words(rowid, text) SELECT id, new.prompt FROM texts WHERE kind = 0 AND row = new.key;
END;
CREATE TRIGGER words_prompt_gone AFTER DELETE ON batches WHEN old.prompt_hash IS NOT NULL AND old.prompt <> ''
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', id, old.prompt FROM texts WHERE kind = 0 AND row = old.key;
  DELETE FROM texts WHERE kind = 0 AND row = old.key;
END;

-- An answer comes after its batch, and may be replaced.
CREATE TRIGGER words_answer_changed AFTER UPDATE OF response ON batches WHEN old.response IS NOT new.response
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', id, old.response FROM texts WHERE kind = 1 AND row = old.key;
  DELETE FROM texts WHERE kind = 1 AND row = old.key;
  INSERT INTO texts(kind, row) SELECT 1, new.key WHERE new.response <> '';
  INSERT INTO words(rowid, text) SELECT id, new.response FROM texts WHERE kind = 1 AND row = new.key;
END;
CREATE TRIGGER words_answer_gone AFTER DELETE ON batches WHEN old.response <> ''
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', id, old.response FROM texts WHERE kind = 1 AND row = old.key;
  DELETE FROM texts WHERE kind = 1 AND row = old.key;
END;

CREATE TRIGGER words_command_new AFTER INSERT ON activities WHEN new.class = 'shell' AND new.input ->> '$.command' <> ''
BEGIN
  INSERT INTO texts(kind, row) VALUES (2, new.key);
  INSERT INTO words(rowid, text) SELECT id, new.input ->> '$.command' FROM texts WHERE kind = 2 AND row = new.key;
END;
CREATE TRIGGER words_command_gone AFTER DELETE ON activities WHEN old.class = 'shell' AND old.input ->> '$.command' <> ''
BEGIN
  INSERT INTO words(words, rowid, text)
    SELECT 'delete', id, old.input ->> '$.command' FROM texts WHERE kind = 2 AND row = old.key;
  DELETE FROM texts WHERE kind = 2 AND row = old.key;
END;

ALTER TABLE plans ADD COLUMN text TEXT;              -- of its newest version
UPDATE plans SET text = (SELECT content FROM plan_versions WHERE plan = plans.key ORDER BY version DESC LIMIT 1);
CREATE TRIGGER words_plan_changed AFTER UPDATE OF text ON plans WHEN old.text IS NOT new.text
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', id, old.text FROM texts WHERE kind = 3 AND row = old.key;
  DELETE FROM texts WHERE kind = 3 AND row = old.key;
  INSERT INTO texts(kind, row) SELECT 3, new.key WHERE new.text <> '';
  INSERT INTO words(rowid, text) SELECT id, new.text FROM texts WHERE kind = 3 AND row = new.key;
END;
CREATE TRIGGER words_plan_gone AFTER DELETE ON plans WHEN old.text <> ''
BEGIN
  INSERT INTO words(words, rowid, text) SELECT 'delete', id, old.text FROM texts WHERE kind = 3 AND row = old.key;
  DELETE FROM texts WHERE kind = 3 AND row = old.key;
END;

-- What is there already.
INSERT INTO texts(kind, row) SELECT 0, key FROM batches WHERE prompt_hash IS NOT NULL AND prompt <> '';
INSERT INTO texts(kind, row) SELECT 1, key FROM batches WHERE response <> '';
INSERT INTO texts(kind, row) SELECT 2, key FROM activities WHERE class = 'shell' AND input ->> '$.command' <> '';
INSERT INTO texts(kind, row) SELECT 3, key FROM plans WHERE text <> '';
INSERT INTO words(rowid, text) SELECT id, prompt FROM texts JOIN batches ON key = row WHERE kind = 0;
INSERT INTO words(rowid, text) SELECT id, response FROM texts JOIN batches ON key = row WHERE kind = 1;
INSERT INTO words(rowid, text) SELECT id, input ->> '$.command' FROM texts JOIN activities ON key = row WHERE texts.kind = 2;
INSERT INTO words(rowid, text) SELECT id, text FROM texts JOIN plans ON key = row WHERE kind = 3;
