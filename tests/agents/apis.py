"""The wire forms of the model APIs that the scripted model speaks: one class each, one row in APIS.

An API says which paths are its own, reads what the agent sent (opening text, tools, tool results) and
writes a step of the script as its own kind of answer. Everything else is in model.py."""

import json
import time
import uuid


def new_id(prefix):
    return prefix + uuid.uuid4().hex[:24]


def plain(content):
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(plain(b.get("text") or b.get("content") or "") for b in content)
    return ""


class Messages:
    """Anthropic: Claude Code."""

    @staticmethod
    def handles(path):
        return path == "/v1/messages"

    @staticmethod
    def count(path, size):
        """The answer to a question for a number of tokens, or None."""
        return {"input_tokens": 1 + size // 4} if path == "/v1/messages/count_tokens" else None

    @staticmethod
    def opening(request):
        first = next((m for m in request.get("messages", []) if m.get("role") == "user"), {})
        return plain(first.get("content", ""))

    @staticmethod
    def system(request):
        return plain(request.get("system", ""))

    @staticmethod
    def results(request):
        for message in request.get("messages", []):
            if not isinstance(message.get("content"), list):
                continue
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    yield block["tool_use_id"], (plain(block.get("content", "")),
                                                 bool(block.get("is_error")))

    @staticmethod
    def error(kind, message):
        return {"type": "error", "error": {"type": kind, "message": message}}

    @staticmethod
    def streams(path, request):
        return bool(request.get("stream"))

    @staticmethod
    def answer(request, step):
        blocks = [{"type": "text", "text": step["say"]}] if step.get("say") else []
        for call in step.get("use") or ():
            blocks.append({"type": "tool_use", "id": call.get("id") or new_id("toolu_"),
                           "name": call["tool"], "input": call["input"]})
        called = any(b["type"] == "tool_use" for b in blocks)
        return {
            "id": new_id("msg_"), "type": "message", "role": "assistant",
            "model": request.get("model", "scripted"), "content": blocks,
            "stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": step.get("tokens", 120), "output_tokens": 30,
                      "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        }

    @staticmethod
    def events(message):
        """The same answer as the events of a stream."""
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "usage": message["usage"],
               "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI: Codex. A call with `raw` is one of a tool that takes text instead of an object."""

    @staticmethod
    def handles(path):
        return path == "/v1/responses"

    @staticmethod
    def count(path, size):
        return None

    @staticmethod
    def opening(request):
        # Codex sends instructions and its environment as earlier messages of the user.
        return "\n".join(plain(i.get("content")) for i in request.get("input", [])
                         if i.get("role") == "user")

    @staticmethod
    def system(request):
        return request.get("instructions") or ""

    @staticmethod
    def results(request):
        for item in request.get("input", []):
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                output = item.get("output")
                if isinstance(output, dict):
                    output = output.get("content", "")
                yield item["call_id"], (plain(output), False)

    @staticmethod
    def error(kind, message):
        return {"error": {"type": kind, "code": None, "message": message}}

    @staticmethod
    def streams(path, request):
        return bool(request.get("stream"))

    @staticmethod
    def answer(request, step):
        output = []
        if step.get("say"):
            output.append({"type": "message", "id": new_id("msg_"), "role": "assistant",
                           "status": "completed", "content": [
                               {"type": "output_text", "text": step["say"], "annotations": []}]})
        for call in step.get("use") or ():
            item = {"call_id": call["id"], "name": call["tool"], "status": "completed"}
            if "raw" in call:
                item |= {"type": "custom_tool_call", "id": new_id("ctc_"), "input": call["raw"]}
            else:
                item |= {"type": "function_call", "id": new_id("fc_"),
                         "arguments": json.dumps(call["input"])}
            output.append(item)
        asked, said = step.get("tokens", 120), 30
        return {
            "id": new_id("resp_"), "object": "response", "created_at": int(time.time()),
            "model": request.get("model", "scripted"), "status": "completed", "output": output,
            "usage": {"input_tokens": asked, "input_tokens_details": {"cached_tokens": 0},
                      "output_tokens": said, "output_tokens_details": {"reasoning_tokens": 0},
                      "total_tokens": asked + said},
        }

    @staticmethod
    def events(answer):
        empty = {**answer, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": empty}
        for index, item in enumerate(answer["output"]):
            opened = {**item, "status": "in_progress"}
            if item["type"] == "message":
                opened["content"] = []
            yield {"type": "response.output_item.added", "output_index": index, "item": opened}
            if item["type"] == "message":
                yield {"type": "response.output_text.delta", "item_id": item["id"],
                       "output_index": index, "content_index": 0,
                       "delta": item["content"][0]["text"]}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": answer}


class GenerateContent:
    """Google: Gemini CLI. The method stands at the end of the path."""

    @staticmethod
    def handles(path):
        return path.endswith((":generateContent", ":streamGenerateContent"))

    @staticmethod
    def count(path, size):
        return {"totalTokens": 1 + size // 4} if path.endswith(":countTokens") else None

    @staticmethod
    def opening(request):
        return "\n".join(plain(c.get("parts")) for c in request.get("contents", [])
                         if c.get("role") == "user")

    @staticmethod
    def system(request):
        return plain((request.get("systemInstruction") or {}).get("parts", ""))

    @staticmethod
    def results(request):
        for content in request.get("contents", []):
            for part in content.get("parts", []):
                if answer := part.get("functionResponse"):
                    said = answer.get("response") or {}
                    text = said.get("output", said.get("error", ""))
                    yield answer.get("id") or answer["name"], (
                        text if isinstance(text, str) else json.dumps(text), "error" in said)

    @staticmethod
    def error(kind, message):
        return {"error": {"code": 500, "status": kind, "message": message}}

    @staticmethod
    def streams(path, request):
        return path.endswith(":streamGenerateContent")

    @staticmethod
    def answer(request, step):
        parts = [{"text": step["say"]}] if step.get("say") else []
        for call in step.get("use") or ():
            parts.append({"functionCall": {"id": call["id"], "name": call["tool"],
                                           "args": call["input"]}})
        asked, said = step.get("tokens", 120), 30
        return {
            "candidates": [{"content": {"role": "model", "parts": parts or [{"text": ""}]},
                            "index": 0, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": asked, "candidatesTokenCount": said,
                              "totalTokenCount": asked + said},
            "modelVersion": "scripted", "responseId": new_id(""),
        }

    @staticmethod
    def events(answer):
        yield answer


class ChatCompletions:
    """OpenAI's older one: Copilot CLI with a provider of one's own, Qwen Code, opencode."""

    @staticmethod
    def handles(path):
        return path == "/v1/chat/completions"

    @staticmethod
    def count(path, size):
        return None

    @staticmethod
    def opening(request):
        return "\n".join(plain(m.get("content")) for m in request.get("messages", []) if m.get("role") == "user")

    @staticmethod
    def system(request):
        return "\n".join(plain(m.get("content")) for m in request.get("messages", [])
                         if m.get("role") in ("system", "developer"))

    @staticmethod
    def results(request):
        for message in request.get("messages", []):
            if message.get("role") == "tool":
                yield message["tool_call_id"], (plain(message.get("content")), False)

    @staticmethod
    def error(kind, message):
        return {"error": {"type": kind, "code": None, "message": message}}

    @staticmethod
    def streams(path, request):
        return bool(request.get("stream"))

    @staticmethod
    def answer(request, step):
        message = {"role": "assistant", "content": step.get("say") or None}
        calls = [{"index": n, "id": call["id"], "type": "function",
                  "function": {"name": call["tool"], "arguments": json.dumps(call["input"])}}
                 for n, call in enumerate(step.get("use") or ())]
        if calls:
            message["tool_calls"] = calls
        asked, said = step.get("tokens", 120), 30
        return {
            "id": new_id("chatcmpl-"), "object": "chat.completion", "created": int(time.time()),
            "model": request.get("model", "scripted"),
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
        }

    @staticmethod
    def events(answer):
        [choice] = answer["choices"]
        head = {**answer, "object": "chat.completion.chunk", "usage": None}
        yield {**head, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        yield {**head, "choices": [], "usage": answer["usage"]}
        yield "[DONE]"


APIS = (Messages, Responses, GenerateContent, ChatCompletions)


def api_for(path):
    return next((a for a in APIS if a.handles(path)), None)


def count_for(path, size):
    return next((n for a in APIS if (n := a.count(path, size))), None)
