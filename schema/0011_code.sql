-- Pieces of code are given to conversations like memories; they are known by where they are.
ALTER TABLE injections ADD COLUMN place TEXT;          -- path:first-last of code; NULL: a memory
