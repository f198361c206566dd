-- Who asked that an agent be told: another agent's words are not the receiver's own.
ALTER TABLE listeners ADD COLUMN asked_by TEXT;              -- an agent; NULL: a person, or hookd itself

-- What ended a turn, when only the transcript said so: found later than the event, and not made anew from it.
ALTER TABLE sessions ADD COLUMN trouble TEXT;                -- rate_limit context_full
ALTER TABLE sessions ADD COLUMN trouble_at INTEGER;          -- the end of that turn
