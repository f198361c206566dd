-- What hookd decided, and why: made from its own Decision events.
CREATE TABLE decisions (
  key        INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES sessions(key),
  event      TEXT NOT NULL,                          -- key of the event that was decided about
  rule       TEXT NOT NULL,
  ord        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  decision   TEXT NOT NULL,                          -- allow ask deny
  prevailed  INTEGER NOT NULL DEFAULT 0,             -- it is what the agent was told
  observed   INTEGER NOT NULL DEFAULT 0,             -- told, not enforced
  kind       TEXT NOT NULL,                          -- of the event
  tool       TEXT,
  tool_use_id TEXT,
  subject    TEXT,                                   -- the resolved command or path, redacted
  reason     TEXT,
  span_begin INTEGER,                                -- bytes of the command line
  span_end   INTEGER,
  duration_us INTEGER,
  ran_at     INTEGER,                                -- it was denied and ran all the same
  UNIQUE (session, event, rule)
) STRICT;
CREATE INDEX decisions_at ON decisions(at);
CREATE INDEX decisions_rule ON decisions(rule, at);
CREATE INDEX decisions_call ON decisions(session, tool_use_id) WHERE tool_use_id IS NOT NULL;
