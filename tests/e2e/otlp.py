"""Batches of log records as Codex's exporter sends them, in both encodings. Bytes are made here, not by a library."""
import json
import struct

COMMON = [("event.timestamp", "2026-11-15T06:49:19.023Z"), ("app.version", "0.166.0"), ("originator", "codex_exec"),
          ("terminal.type", "dumb"), ("model", "gpt-5.5"), ("slug", "gpt-5.5")]


class Log:
    """One record: its name, its session, when it was seen (nanoseconds), and its attributes."""

    def __init__(self, name, session, ns, **attributes):
        own = [(k.replace("__", "."), v) for k, v in attributes.items()]
        self.ns = ns
        self.attributes = [("event.name", name), *own, ("conversation.id", session), *COMMON]


# -- protobuf ---------------------------------------------------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    """Bytes with their length, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def any_value(v):
    if isinstance(v, bool):
        return field(2, int(v))
    return field(3, v) if isinstance(v, int) else field(1, v)


def record(log):
    out = struct.pack("<BQ", 1 << 3 | 1, 0) + field(2, 9) + field(3, "INFO")
    for key, value in log.attributes:
        out += field(6, field(1, key) + field(2, any_value(value)))
    return out + struct.pack("<BI", 8 << 3 | 5, 1) + field(9, bytes(16)) + struct.pack("<BQ", 11 << 3 | 1, log.ns)


def batch(records):
    """Around records that are encoded already."""
    scope = field(1, field(1, "codex_otel.log_only")) + b"".join(field(2, r) for r in records)
    resource = field(1, field(1, field(1, "service.name") + field(2, any_value("codex_exec"))))
    return field(1, resource + field(2, scope))


def protobuf(logs):
    return batch([record(log) for log in logs])


# -- JSON -------------------------------------------------------------------------------------------

def json_value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    return {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}


def as_json(logs):
    records = [{"timeUnixNano": "0", "observedTimeUnixNano": str(log.ns), "severityNumber": 9, "severityText": "INFO",
                "body": None, "attributes": [{"key": k, "value": json_value(v)} for k, v in log.attributes],
                "droppedAttributesCount": 0, "flags": 1, "traceId": "4a9e1a7fd9ff68dc30a9cb61c995a699",
                "spanId": "255821d57a531a28", "eventName": "event otel/src/events.rs:1"} for log in logs]
    return json.dumps({"resourceLogs": [{"resource": {"attributes": [], "entityRefs": []}, "schemaUrl": "",
                                         "scopeLogs": [{"scope": {"name": "codex"}, "logRecords": records}]}]}).encode()


# -- a turn -----------------------------------------------------------------------------------------

def turn(session, ns, call="call_1", prompt="Say hello", command="echo hi", output="hi\n", code=0, think_ms=10):
    """What Codex reports of one prompt with one command."""
    ms = 1000000
    tool = ns + (20 + think_ms) * ms
    head = f"Chunk ID: 896a2e\nWall time: 0.0000 seconds\nProcess exited with code {code}\nOutput:\n"
    return [
        Log("codex.conversation_starts", session, ns, provider_name="scripted", auth__env_openai_api_key_present=False,
            auth__env_codex_api_key_present=False, auth__env_codex_api_key_enabled=True,
            auth__env_provider_key_name="configured", auth__env_provider_key_present=True, reasoning_summary="auto",
            approval_policy="never", sandbox_policy="danger-full-access", mcp_servers=""),
        Log("codex.user_prompt", session, ns + 10 * ms, prompt_length=str(len(prompt)), prompt=prompt),
        Log("codex.sse_event", session, ns + 20 * ms, event__kind="response.created", duration_ms="0"),
        Log("codex.tool_decision", session, tool, tool_name="exec_command", tool_namespace="functions",
            call_id=call, decision="approved", source="Config"),
        Log("codex.tool_result", session, tool + 30 * ms, tool_name="exec_command", tool_namespace="functions",
            call_id=call, duration_ms="29", success="true", output_truncated=False,
            arguments=json.dumps({"cmd": command}), output=head + output, mcp_server=""),
        Log("codex.sse_event", session, tool + 40 * ms, event__kind="response.completed", input_token_count="100",
            output_token_count="20", cached_token_count="40", reasoning_token_count="5", tool_token_count="125"),
    ]
