"""Digests what the tool `TOOL` gives: its ends stay, and every line that tells of a failure.

One JSON object per line comes in on standard input, and one goes out on standard output for each.
What is printed to standard error is the log.
"""

import json
import sys

HELLO = {"protocol": 1, "name": "NAME", "version": "0.1.0", "features": ["digest"]}
TELLS = ("error", "fail", "fatal", "warn")


def digest(job):
    """What stands in the place of the result; `None` where that is not for this plugin."""
    if job["tool"] != "TOOL":
        return None
    lines, ends = job["text"].splitlines(), job["options"]["ends"]
    said, left = [], 0
    for at, line in enumerate(lines):
        if at < ends or at >= len(lines) - ends or any(word in line.lower() for word in TELLS):
            said += note(left) + [line]
            left = 0
        else:
            left += 1
    text = "\n".join(said + note(left))
    # Without `left` the host finds out by itself which lines are not there.
    return {"text": text, "kind": "NAME"} if len(text.encode()) <= job["most_bytes"] else None


def note(left):
    """What is not the result's own stands in brackets, so that the model knows."""
    return [f"[… {left} lines]"] if left else []


for line in sys.stdin:
    asked = json.loads(line)
    if "hello" in asked:
        answer = {"hello": HELLO}
    elif "digest" in asked:
        answer = {"id": asked["id"], "ok": digest(asked["digest"])}
    else:
        answer = {"id": asked["id"], "error": "it only digests"}
    print(json.dumps(answer), flush=True)
