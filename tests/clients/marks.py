"""Coding agents that mark the end of a task through the levers that `epitome run` attaches.

The model is scripted: it works with parallel calls, loads augments, marks twice beside another call,
and works on. What reached the upstream is judged: before a mark there is no call and no result, and
every word of the talk; behind it is everything; between two marks no prompt changes what the one
before it began with; an undo brings back what the last mark took. Called by `marks`.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import clients
from clients import call, fetch, main_conversation, sent, started

PROMPTS = ["Find out why the deployment fails. Keep port 8443, and never restart the database.",
           "And now the second cluster.", "Sum up what you found.", "Go on."]
AUGMENTS = {"work/ports": "Ports of the heron cluster are 9100 to 9180; ask before you use others.",
            "review/tone": "Reviews name the line first and the remedy behind it."}
MARKS = ["deactivate_augments", "compress_to_checkpoint"]
STATE = "[State of the work]"
NOTE = ("<system-reminder>\n", "\n</system-reminder>")


class Agent:
    """A coding agent: how it is called, and how the model names its tools."""

    def __init__(self, name, command, server, work, setup=None):
        self.name, self.command, self.setup, self.server, self.work = name, command, setup, server, work

    def lever(self, name, **arguments):
        return call(self.server + name, **arguments)

    def script(self, place):
        """The turns of each prompt but the last, which is answered with text alone."""
        one, other = self.work(place)

        def turn(text, *calls):
            return {"thinking": "Let me see.", "text": text, "calls": list(calls)}

        work = turn("I look at both.", one, other)
        load = turn("I load what helps.", self.lever("activate_augments", patterns=["work/*", "review/*"]), one)
        unload = turn("The first cluster is done.", self.lever(MARKS[0], patterns=["review/*"]), one)
        mark = turn("The second cluster is done.", self.lever(MARKS[1]), other)
        done = turn("This is done: see above.")
        return [[work, work, load, work, done], [work, unload, work, done], [work, mark, work, done]]


def claude_work(place):
    # It reads files by their whole path.
    return (call("Read", file_path=f"{place}/log-{{turn}}.txt"),
            call("Bash", command="cat jobs-{turn}.json", description="Look"))


def codex_work(place):
    return call("exec_command", cmd="cat log-{turn}.txt"), call("exec_command", cmd="cat jobs-{turn}.json")


AGENTS = [
    Agent("claude-code", clients.claude, "mcp__epitome__", claude_work),
    # The tools of a server stand in a space of their own.
    Agent("codex", clients.codex, "", codex_work, clients.codex_setup),
]


class Checks:
    """What was found to be otherwise than it should be."""

    def __init__(self):
        self.misses = []

    def that(self, holds, what):
        if not holds:
            self.misses.append(what)


def pieces(body):
    """The parts of a prompt in order, in the words of neither API: kind, text, id."""
    for item in body.get("messages", body.get("input")):
        content = item.get("content")
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            yield "call", item["name"], item["call_id"]
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield "result", json.dumps(item["output"]), item["call_id"]
        elif kind != "message":
            yield "thought", json.dumps(item["summary"]), item["id"]
        elif isinstance(content, str):
            yield "text", content, None
        else:
            yield from map(block, content)


def block(part):
    if part["type"] == "tool_use":
        return "call", part["name"], part["id"]
    if part["type"] == "tool_result":
        return "result", json.dumps(part["content"]), part["tool_use_id"]
    if part["type"] == "thinking":
        return "thought", part["thinking"], part["signature"]
    return "text", part["text"], None


def texts(parts, kind="text"):
    """Those of one kind, without the block that is ours. Notes of the client may change their role
    where the provider takes them in no other, and are marked as notes then."""
    return [unmarked(text) for of, text, _ in parts if of == kind and not text.startswith(STATE)]


def unmarked(text):
    opening, ending = NOTE
    marked = text.startswith(opening) and text.endswith(ending)
    return text[len(opening):-len(ending)] if marked else text


def states(parts):
    return [text for of, text, _ in parts if of == "text" and text.startswith(STATE)]


def ids(parts, kind):
    return [id for of, _, id in parts if of == kind]


def place_of(parts, tool):
    """The first part of the message that calls a lever; none where nothing does."""
    called = [at for at, (kind, name, _) in enumerate(parts) if kind == "call" and name.endswith(tool)]
    if not called:
        return None
    at = called[-1]
    # The upstream says something in every answer, after what it thinks.
    while parts[at][0] != "text":
        at -= 1
    return at - 1 if parts[at - 1][0] == "thought" else at


def judge(agent, script, records, checks):
    """Reads the prompts in order; gives figures."""
    prompts = [r["body"] for r in main_conversation(records)]
    turns = [turn for part in script for turn in part] + [{"text": "That is all.", "calls": []}]
    checks.that(len(prompts) == len(turns), f"{len(prompts)} prompts, not {len(turns)}")
    for record in records:
        checks.that(not record["refused"], f"request {record['number']}: {record['refused']}")
        checks.that(record["status"] < 400, f"request {record['number']}: {record['status']}")
    marks = [at + 1 for at, turn in enumerate(turns)
             if any(one["name"].endswith(tool) for one in turn["calls"] for tool in MARKS)]
    changes = marks + [len(turns) - 1]
    removed = left = 0
    for at, (before, now) in enumerate(zip(prompts, prompts[1:]), 1):
        goes_on = sent(now)[:len(sent(before))] == sent(before)
        checks.that(goes_on != (at in changes), f"prompt {at + 1} {'goes on' if goes_on else 'does not go on'}")
        parts = list(pieces(now))
        since = max([0] + [mark for mark in marks if mark <= at and at < changes[-1]])
        if at == changes[-1]:
            since = marks[0]
        # The turns whose calls are to be seen, each with two calls and two results.
        expected = [number for number, turn in enumerate(turns[:at], 1)
                    if turn["calls"] and number >= since]
        for kind in ("call", "result"):
            seen = [id.split("turn")[1].split("x")[0] for id in ids(parts, kind)]
            checks.that(seen == [str(number) for number in expected for _ in range(2)],
                        f"prompt {at + 1}: {kind}s of turns {seen}, not of {expected} twice")
        if at not in marks:
            continue
        tool = MARKS[marks.index(at)]
        mark, old = place_of(parts, tool), list(pieces(before))
        if mark is None:
            checks.that(False, f"prompt {at + 1}: no call of {tool}")
            continue
        head = parts[:mark]
        checks.that(not ids(head, "call") + ids(head, "result"), f"prompt {at + 1}: calls before {tool}")
        checks.that(texts(head) == texts(old), f"prompt {at + 1}: another talk before {tool}")
        checks.that(texts(head, "thought") == texts(old, "thought"), f"prompt {at + 1}: other thoughts")
        said = [turn["text"] for turn in turns[:at - 1]] + [p for p in PROMPTS if p in texts(old)]
        for text in said:
            found = sum(one.endswith(text) for one in texts(head))
            checks.that(found == said.count(text), f"prompt {at + 1}: `{text}` {found} times")
        block = states(parts)
        checks.that(states(head) == block and len(block) == 1, f"prompt {at + 1}: {len(block)} states")
        checks.that(AUGMENTS["work/ports"] in "".join(block), f"prompt {at + 1}: no active augment in {block}")
        checks.that(AUGMENTS["review/tone"] not in "".join(block), f"prompt {at + 1}: an augment that left")
        removed += len(ids(old, "call")) + len(ids(old, "result"))
        left += len(texts(head))
    loaded = [text for body in prompts for text in texts(pieces(body), "result")]
    for text in AUGMENTS.values():
        checks.that(any(text in one for one in loaded), f"no result says: {text}")
    return {"prompts": len(prompts), "blocks": removed, "talk": left}


def journal(options, place, *words):
    command = [options.program, *words, "--store", place / "epitome.db", "--profile", "watermark"]
    ran = subprocess.run([str(it) for it in command], cwd=place, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{command}: {ran.stderr}")
    return json.loads(ran.stdout) if "--json" in words else ran.stdout


def judge_status(agent, options, place, checks):
    """What the journal says after both marks; gives the session and what was saved."""
    sessions = journal(options, place, "session", "list", "--json")
    checks.that(len(sessions) == 1, f"{len(sessions)} sessions")
    name = sessions[0]["name"]
    status = journal(options, place, "status", "--session", name, "--json")
    tool, blocks = (status.get("watermark") or {}).get("tool"), [it["blocks"] for it in status["marks"]]
    checks.that(tool == f"mcp__epitome__{MARKS[1]}", f"the watermark is of {tool}")
    checks.that(sum(blocks) == 32 and len(blocks) == 2, f"{status['marks']} were removed")
    difference = journal(options, place, "diff", name, "--json")
    ways = {cut["how"] for cut in difference["cuts"]}
    # Where a call is an item of its own, it is dropped as its result is.
    checks.that({"drop", "state"} <= ways <= {"strip", "drop", "state"}, f"diff tells of {ways}")
    return name, sum(it["saved"] for it in status["marks"])


def run(agent, options, upstream):
    place = options.lab / "work" / f"marks-{agent.name}"
    shutil.rmtree(place, ignore_errors=True)
    (place / "home").mkdir(parents=True)
    clients.fill(place)
    for name, text in AUGMENTS.items():
        file = place / ".epitome/augments" / f"{name}.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\ntitle: {name.title()}\n---\n{text}\n")
    if agent.setup:
        agent.setup(place, upstream)
    script = agent.script(place)
    turns = [turn for part in script for turn in part]
    fetch(f"{upstream}/__script", json.dumps({"turns": turns, "pings": True}).encode(), "POST")
    fetch(f"{upstream}/__log", method="DELETE")
    environment = {**clients.ENVIRONMENT, "PATH": os.environ["PATH"], "HOME": str(place / "home")}
    checks, saved = Checks(), 0
    for turn, prompt in enumerate(PROMPTS):
        if turn == len(PROMPTS) - 1:
            name, saved = judge_status(agent, options, place, checks)
            journal(options, place, "session", "undo", name)
        command = [options.program, "run", "--store", place / "epitome.db", "--profile", "watermark",
                   "--anthropic-upstream", upstream, "--openai-upstream", upstream, "--",
                   *agent.command(options.lab, prompt, turn, upstream)]
        ran = subprocess.run([str(it) for it in command], cwd=place, env=environment, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        (place / f"said-{turn}.txt").write_text(f"{ran.stdout}\n--- stderr\n{ran.stderr}")
        checks.that(ran.returncode == 0, f"prompt {turn + 1} ended with {ran.returncode}")
    log = fetch(f"{upstream}/__log")
    (place / "upstream.jsonl").write_text(log)
    figures = judge(agent, script, [json.loads(line) for line in log.splitlines()], checks)
    return {"client": agent.name, "ok": not checks.misses, **figures, "saved": saved}, checks.misses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("clients", nargs="*", help=", ".join(it.name for it in AGENTS))
    options = parser.parse_args()
    wanted = [it for it in AGENTS if not options.clients or it.name in options.clients]
    child, upstream = started([options.upstream])
    try:
        columns = ["client", "ok", "prompts", "blocks", "talk", "saved", "seconds"]
        print("  ".join(f"{it:>12}" if it == "client" else f"{it:>8}" for it in columns))
        all_good = True
        for agent in wanted:
            before = time.time()
            figures, misses = run(agent, options, upstream)
            figures["seconds"] = round(time.time() - before, 1)
            all_good &= figures["ok"]
            print("  ".join(f"{figures[it]!s:>12}" if it == "client" else f"{figures[it]!s:>8}"
                            for it in columns), flush=True)
            for miss in misses:
                print(f"    {miss}")
    finally:
        child.terminate()
    sys.exit(0 if all_good else 6)


if __name__ == "__main__":
    main()
