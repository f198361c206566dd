-- Which call a decision was about (activities.same), also where the agent gives calls no id.
ALTER TABLE decisions ADD COLUMN call TEXT;
DROP INDEX decisions_call;
CREATE INDEX decisions_call ON decisions(session, call) WHERE call IS NOT NULL;
