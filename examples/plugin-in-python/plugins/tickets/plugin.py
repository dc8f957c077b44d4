"""A plugin that digests what a ticket system prints: `#4711 [open] Payment page hangs`, and below
each such head its fields and what was written, set in.

It speaks the protocol of Epitome's plugins (version 1): one JSON object per line, in on standard
input, out on standard output. What it prints to standard error is its log. Nothing but Python's own
library is needed, and nothing of Epitome's.
"""

import json
import re
import sys

HELLO = {"protocol": 1, "name": "tickets", "version": "1", "features": ["digest"]}
HEAD = re.compile(r"#(?P<number>\d+) \[(?P<state>[a-z ]+)\] \S.*")


class Ticket:
    def __init__(self, head, line):
        self.number, self.state = head["number"], head["state"]
        self.lines = [line]

    def shown(self, most):
        """Its first lines; what of it is not shown stands as a note, in `[… ]`."""
        left = len(self.lines) - most
        return self.lines[:most] + ([f"  [… {left} lines]"] if left > 0 else [])


def read(text):
    """The tickets of a text, or none where it is no list of at least three."""
    tickets = []
    for line in text.splitlines():
        head = HEAD.fullmatch(line)
        if head:
            tickets.append(Ticket(head, line))
        elif line.startswith(" ") and tickets:
            tickets[-1].lines.append(line)
        elif line.strip():
            return []
    return tickets if len(tickets) >= 3 else []


def digest(job):
    """Says the result in its own words, or `None` where it is not for this plugin."""
    tickets = read(job["text"])
    if not tickets:
        return None
    done = (job.get("options") or {}).get("done", ["closed"])
    asked = re.findall(r"\d+", job.get("arguments", ""))
    # As many lines of each as there is room for. A ticket that the call named stands there whole.
    for most in (99, 9, 4, 2, 1):
        lines, counts = [], {}
        for ticket in tickets:
            if ticket.number in asked:
                lines += ticket.lines
            elif ticket.state in done:
                counts[ticket.state] = counts.get(ticket.state, 0) + 1
            else:
                lines += ticket.shown(most)
        note = "".join(f", {count} {state} left out" for state, count in counts.items())
        said = "\n".join([f"[… {len(tickets)} tickets{note}]", *lines])
        if len(said.encode()) <= job["most_bytes"]:
            # Without `left` the host looks for itself which lines are left out.
            return {"text": said, "kind": "tickets"}
    return None


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        if "hello" in asked:
            answer = {"hello": HELLO}
        elif "digest" in asked:
            answer = {"id": asked["id"], "ok": digest(asked["digest"])}
        else:
            answer = {"id": asked["id"], "error": "it only digests"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
