-- Records that no row of events could be made from: their bytes as in the journal, until a release can.
CREATE TABLE quarantine (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  why        TEXT NOT NULL,
  release    TEXT NOT NULL,                          -- that could not
  record     BLOB NOT NULL
) STRICT;
-- Events that no projection was made from (EVENT_UNFOLDED), to be counted and tried again without looking at all.
CREATE INDEX events_unfolded ON events(seq) WHERE marks & 128;
