-- Payloads of one session and one commit are packed together: see store/payload.c. Those that are stored already stay
-- as they are.
CREATE TABLE blocks (
  key        INTEGER PRIMARY KEY,             -- 128 * (events.payload / 64) + part; a block has events of one session
  body       BLOB NOT NULL                    -- a part of it: short rows fill pages better
) STRICT;
