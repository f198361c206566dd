-- Work that follows from what was captured, and that a kill must neither lose nor repeat. See storage/jobs.
CREATE TABLE jobs (
  id         INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL,                          -- job_kinds[]
  subject    TEXT NOT NULL,                          -- a batch's ULID, a session's key
  stream     INTEGER,                                -- jobs of one stream run one after the other; NULL: whenever
  session    INTEGER NOT NULL,                       -- goes with it
  version    INTEGER NOT NULL,                       -- of the subject: a higher one reopens a job that is done
  state      INTEGER NOT NULL DEFAULT 0,             -- 0 waiting, 2 done, 3 dead
  tries      INTEGER NOT NULL DEFAULT 0,
  made_at    INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  boot       INTEGER,                                -- the daemon that last tried
  cost       INTEGER NOT NULL DEFAULT 0,             -- tokens
  error      TEXT,
  UNIQUE (kind, subject)
) STRICT;
CREATE INDEX jobs_due ON jobs(kind, due_at) WHERE state = 0;
CREATE INDEX jobs_stream ON jobs(stream, id) WHERE state = 0;
CREATE INDEX jobs_session ON jobs(session);

-- What is known of a turn beside its events; named by the ULID of its first event, because refolding makes batches anew.
CREATE TABLE turns (
  batch      BLOB PRIMARY KEY CHECK (length(batch) = 16),
  session    INTEGER NOT NULL,
  class      TEXT NOT NULL,                          -- exploration debugging implementation refactoring
  source     TEXT NOT NULL                           -- rules model
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_session ON turns(session);

CREATE TABLE summaries (
  session    INTEGER PRIMARY KEY,
  title      TEXT,
  text       TEXT,
  origin     TEXT,                                   -- planning investigation implementation mixed
  source     TEXT NOT NULL,                          -- rules model
  version    INTEGER NOT NULL,                       -- of the job that made it
  at         INTEGER NOT NULL
) STRICT;

-- Batches that nobody has looked at yet.
INSERT INTO jobs(kind, subject, stream, session, version, made_at, due_at)
  SELECT 'extract', ulid_text(e.id), 2 * b.session, b.session, 4194304 * b.activities + coalesce(length(b.response), 0),
    coalesce(b.ended_at, b.last_at), 0
  FROM batches b JOIN events e ON e.seq = b.key / 4 LEFT JOIN extracted x ON x.session = b.session
  WHERE b.status <> 'active' AND b.ord > coalesce(x.ord, -1) ORDER BY b.session, b.ord;
INSERT INTO jobs(kind, subject, session, version, made_at, due_at)
  SELECT 'summarize', key, key, last_ord, last_at, 0 FROM sessions WHERE prompts > 0;
DROP TABLE extracted;
