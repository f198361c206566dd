-- What people say about context and about sessions that belong together, and the words of the index as rows.

-- Nothing is added to these conversations.
CREATE TABLE quiet (
  what       TEXT NOT NULL CHECK (what IN ('session', 'project')),
  name       TEXT NOT NULL,                          -- the session's own id; the project's path
  at         INTEGER NOT NULL,
  PRIMARY KEY (what, name)
) STRICT, WITHOUT ROWID;

-- The session that another one continues, as a person has said. It outlives refolding.
CREATE TABLE accepted (
  session    INTEGER PRIMARY KEY,
  parent     INTEGER NOT NULL,
  at         INTEGER NOT NULL
) STRICT;

CREATE TRIGGER session_gone AFTER DELETE ON sessions
BEGIN
  DELETE FROM accepted WHERE session = old.key OR parent = old.key;
  DELETE FROM quiet WHERE what = 'session' AND name = old.native_id;
END;

-- A run of an unspaced script is one word of the index; searching for a part of it goes through these rows.
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
