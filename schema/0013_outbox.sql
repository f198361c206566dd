-- What goes out: see output/outbox. A delivery is a job of kind 'deliver', whose subject is "sink:event"; what a job does
-- not have is here, apart from it, so that lists of jobs read no bodies.
CREATE TABLE sinks (
  key        INTEGER PRIMARY KEY,                    -- in the streams of jobs
  name       TEXT NOT NULL UNIQUE,                   -- as in the user's configuration, now or once
  coalesced  INTEGER NOT NULL DEFAULT 0,             -- deliveries that a newer one replaced
  dropped    INTEGER NOT NULL DEFAULT 0              -- for which there was no room
) STRICT;

CREATE TABLE deliveries (
  job        INTEGER PRIMARY KEY,                    -- jobs.id
  sink       INTEGER NOT NULL,
  type       TEXT NOT NULL,                          -- session_start, …, PostToolUse
  critical   INTEGER NOT NULL,                       -- nothing may take its place
  at         INTEGER NOT NULL,                       -- of the event
  done_at    INTEGER,
  dead_at    INTEGER,
  body       ANY                                     -- payload_text() reads it; gone when it has been delivered
) STRICT;
CREATE INDEX deliveries_done ON deliveries(done_at) WHERE done_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries(sink, dead_at) WHERE dead_at IS NOT NULL;
