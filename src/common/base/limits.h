/* limits: every cap of hookd with its reason. A parser that has no line here has no cap, which is a
 * bug. */
#ifndef HOOKD_BASE_LIMITS_H
#define HOOKD_BASE_LIMITS_H

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

/* What hookc keeps of one payload; the rest is drained, counted and hashed. The largest real payload
 * seen is a Write of about 2 MB. */
#define LIMIT_PAYLOAD MIB(8)

/* Request frame: payload plus head (cwd, arguments, allowed environment). */
#define LIMIT_FRAME_HEAD KIB(96)
#define LIMIT_FRAME (LIMIT_PAYLOAD + LIMIT_FRAME_HEAD)

/* Reply frame: agents cut hook output at 10,000 characters; user hooks may print up to 1 MiB. */
#define LIMIT_REPLY MIB(1)

/* Nesting of JSON. Real payloads stay under 20; RFC 8259 lets an implementation choose. */
#define LIMIT_JSON_DEPTH 128

/* Nodes of one JSON document: 8 MiB of "[0,0,…" would be 4 million nodes of 40 bytes. */
#define LIMIT_JSON_NODES 500000

/* Names that become keys, labels and log fields (agent, event, session, tool). Longer ones are cut
 * at a character boundary. */
#define LIMIT_NAME 512

/* A line of the RPC dialect, and its answer, which must have room for the largest record. */
#define LIMIT_RPC_LINE MIB(4)
#define LIMIT_RPC_REPLY MIB(24)

/* A config file. A hand-written one has a few hundred lines. */
#define LIMIT_CONFIG MIB(1)

/* An agent's settings file that init edits. */
#define LIMIT_SETTINGS MIB(4)

/* Connections the daemon holds at once; beyond it new ones wait in the backlog. */
#define LIMIT_CONNECTIONS 4096

/* One journal record: a redacted payload may grow (each secret becomes "[redacted]", invalid bytes
 * become three), so twice the payload plus the head. */
#define LIMIT_RECORD (2 * LIMIT_PAYLOAD + LIMIT_FRAME_HEAD)

/* A journal segment is closed past this size, so that replay and deletion go in small steps. */
#define LIMIT_SEGMENT MIB(16)

/* Payloads above this are parsed and redacted on a worker: at about 5 µs a KB the loop would
 * otherwise be held for more than a third of a millisecond. */
#define LIMIT_INLINE_PAYLOAD KIB(64)

/* hookd.log: rotated past this size, one old file kept. */
#define LIMIT_LOG_FILE MIB(8)

#endif
