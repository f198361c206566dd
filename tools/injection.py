#!/usr/bin/python3
"""Judges what is added to conversations as a person would: tools/injection.py HOOKD [FILE…]

A file (tests/recall/*.jsonl) is a project: lines {"memory": id, "type", "text", "file"} and lines {"prompt": text,
"helps": [ids], "touches": [files]}. Each prompt is a conversation: hookd is asked what it adds to the prompt, and then to
each file that an agent opens for it (which somebody said who saw neither the memories nor which of them help; a directory
stands for a file in it). Of what is added, how much helps; and of what would have helped, how much comes?
"""
import json
import sys
from pathlib import Path

from confidence import ROOT, Hookd, read


def moments(prompt, project):
    yield {"event": "UserPromptSubmit", "prompt": prompt["prompt"], "project": project}
    for file in prompt.get("touches", []):
        file += "a_file" if file.endswith("/") else ""
        yield {"event": "PostToolUse", "prompt": prompt["prompt"], "file": file, "project": project}


def judge(hookd, path, show):
    memories, prompts = read(path)
    lines = [json.dumps({"ref": m["memory"], "project": path.stem, "type": m.get("type", "discovery"), "text": m["text"],
                         "file": m.get("file")}) for m in memories]
    hookd.run("memory", "import", "-", text="\n".join(lines))
    listed = json.loads(hookd.run("rpc", "memories", json.dumps({"limit": 10000})))["memories"]
    ref = {m["id"]: m["ref"] for m in listed}
    text = {m["memory"]: m["text"] for m in memories}
    counts = {}
    for prompt in prompts:
        given = set()
        for moment in moments(prompt, path.stem):
            for item in json.loads(hookd.run("rpc", "preview", json.dumps(moment)))["items"]:
                name = ref[item["memory"]]
                if name in given:
                    continue
                given.add(name)
                good = name in prompt["helps"]
                count = counts.setdefault(moment["event"], [0, 0])
                count[not good] += 1
                if show:
                    print(f"{'good' if good else 'bad '} {moment.get('file', '-')}: {prompt['prompt'][:90]!r} -> {text[name][:90]!r}")
    return counts, sum(len(p["helps"]) for p in prompts), len(prompts)


def main():
    show = "--show" in sys.argv
    args = [a for a in sys.argv[1:] if a != "--show"]
    files = [Path(a) for a in args[1:]] or sorted((ROOT / "tests" / "recall").glob("*.jsonl"))
    hookd = Hookd(args[0])
    total, wanted, prompts = {}, 0, 0
    try:
        for path in files:
            counts, more, n = judge(hookd, path, show)
            wanted, prompts = wanted + more, prompts + n
            for moment, (good, bad) in counts.items():
                sums = total.setdefault(moment, [0, 0])
                sums[0] += good
                sums[1] += bad
    finally:
        hookd.close()
    print(f"{len(files)} projects, {prompts} prompts, {wanted} memories that help")
    for moment, (good, bad) in [*total.items(), ("all", [sum(c[i] for c in total.values()) for i in (0, 1)])]:
        print(f"  {moment:17} {good + bad:4} given, {good / max(1, good + bad):.2f} help, "
              f"{good / wanted:.2f} of what would have helped")


if __name__ == "__main__":
    main()
