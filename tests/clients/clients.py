"""Runs real clients through `epitome run` and `epitome serve`, and judges by the upstream's log.

For each client: it finishes, no request was invalid, compression acted, and between compressions
every prompt begins with the one before it (`cache_control` left out). Of a client without tools, which
sends files to be edited, every prompt holds each of them whole. Called by `run`.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
ROUNDS = 4
PROMPTS = ["Find out why the deployment fails. Keep port 8443.", "And now the second cluster.",
           "Sum up what you found."]


def call(name, **arguments):
    return {"name": name, "input": arguments}


def script(*calls, **more):
    """Three tasks; each takes some rounds of parallel calls and ends with a text."""
    working = {"thinking": "Let me look.", "text": "I look at both.", "calls": list(calls)}
    turns = [working] * ROUNDS + [{"text": "This is done: see above."}]
    return {"turns": turns, "repeat": len(PROMPTS), "pings": True, **more}


class Client:
    """One client: how it is called, and what the model is scripted to call."""

    def __init__(self, name, command, calls, limit, setup=None, serve=False, files=None, **more):
        self.name, self.command, self.limit, self.serve = name, command, limit, serve
        self.setup, self.script = setup, script(*calls, **more)
        # What it edits and sends in every prompt, whole.
        self.files = files or {}


def claude(lab, prompt, turn, url):
    options = ["-p", prompt, "--allowedTools", "Read", "Bash", "mcp__epitome", "--output-format", "text"]
    return [lab / "npm/node_modules/.bin/claude", *options, *(["-c"] if turn else [])]


def codex(lab, prompt, turn, url):
    options = ["--skip-git-repo-check", "--sandbox", "danger-full-access"]
    go_on = ["resume", "--last"] if turn else []
    return [lab / "npm/node_modules/.bin/codex", "exec", *options, *go_on, prompt]


def codex_setup(place, url):
    home = place / "home/.codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(f'''model = "gpt-5-codex"
model_provider = "mine"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mine]
name = "mine"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
''')


def opencode(lab, prompt, turn, url):
    return [lab / "npm/node_modules/.bin/opencode", "run", *(["-c"] if turn else []), prompt]


def opencode_setup(place, url):
    provider = {"npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
                "models": {"mock-1": {"limit": {"context": 200000, "output": 4096}}}}
    config = {"autoupdate": False, "share": "disabled", "model": "mine/mock-1",
              "small_model": "mine/mock-1", "provider": {"mine": provider}, "permission": {"*": "allow"}}
    (place / "opencode.json").write_text(json.dumps(config))


def aider(lab, prompt, turn, url):
    options = ["--no-git", "--no-check-update", "--analytics-disable", "--no-show-model-warnings",
               "--no-show-release-notes", "--no-detect-urls", "--no-suggest-shell-commands",
               "--yes-always", "--restore-chat-history", "--max-chat-history-tokens", "100000",
               "--model", "openai/mock-1"]
    # What was said grows: each task comes with a list of its own.
    listed = "\n".join(f"{turn}-{at}: cluster {at} answers in {at * 37 % 900} ms" for at in range(60))
    return [lab / "aider/bin/aider", *options, "--message", f"{prompt}\n{listed}", *FILES]


def package(kind):
    def command(lab, prompt, turn, url):
        # All three tasks are one process.
        return None if turn else [lab / "venv/bin/python", HERE / "agent.py", kind, url]
    return command


FILES = {f"f{n:02d}.txt": "".join(
    f"line {at} of file {n} says {at * 7919 % 10007}\n" for at in range(216)) for n in range(3)}
BOTH = [call("read_log", n="{turn}"), call("query", n="{turn}")]
CLIENTS = [
    Client("claude-code", claude, [call("Bash", command="cat log-{turn}.txt", description="Look"),
                                   call("Bash", command="cat jobs-{turn}.json", description="Look")],
           limit=45000),
    Client("codex", codex, [call("exec_command", cmd="cat log-{turn}.txt"),
                            call("exec_command", cmd="cat jobs-{turn}.json")], 25000, codex_setup),
    Client("opencode", opencode, [call("bash", command="cat log-{turn}.txt", description="Look"),
                                  call("bash", command="cat jobs-{turn}.json", description="Look")],
           25000, opencode_setup),
    Client("aider", aider, [], 12000, files=FILES, turns=[{"text": "This is done: see above."}]),
    Client("anthropic", package("anthropic"), BOTH, 4500, serve=True),
    Client("openai-chat", package("openai"), BOTH, 4500, serve=True, gzip=True),
    Client("openai-responses", package("responses"), BOTH, 4500, serve=True),
    Client("ollama", package("ollama"), BOTH, 4500, serve=True),
]

ENVIRONMENT = {
    "TERM": "dumb", "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "sk-test", "OPENAI_API_KEY": "sk-test",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def fetch(url, data=None, method=None):
    request = urllib.request.Request(url, data=data, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def started(command, **more):
    """Starts a server; gives it and the address that it prints."""
    child = subprocess.Popen([str(it) for it in command], stdout=subprocess.PIPE, text=True, **more)
    address = child.stdout.readline().strip()
    if not address.startswith("http://"):
        raise SystemExit(f"{command[0]} ended before it listened")
    return child, address


def fill(place):
    """Files for the tools to read: logs and tables, different in every turn."""
    dice = random.Random(5)
    for n in range(1, 1 + (ROUNDS + 1) * len(PROMPTS)):
        log = [f"2026-11-21 10:{i // 60:02d}:{i % 60:02d} INFO w{dice.randint(0, 9)} run={n} item {i} "
               f"took {dice.randint(1, 900)}ms" for i in range(300)]
        log[113] = f"2026-11-21 10:01:53 FATAL w3 run={n} out of memory: killed pid {8000 + n}"
        (place / f"log-{n}.txt").write_text("\n".join(log))
        rows = [{"id": f"{n}-{i}", "state": dice.choice(["ok", "ok", "fail"]), "score": dice.random()}
                for i in range(120)]
        (place / f"jobs-{n}.json").write_text(json.dumps(rows))


def bare(value):
    """Without the markers that move every turn."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k != "cache_control"}
    return [bare(v) for v in value] if isinstance(value, list) else value


def said(item):
    """A message with its text as blocks: clients write the same message both ways."""
    if isinstance(item, dict) and isinstance(item.get("content"), str):
        return {**item, "content": [{"type": "text", "text": item["content"]}]}
    return item


def sent(body):
    items = body.get("messages", body.get("input"))
    items = items if isinstance(items, list) else [items]
    return [json.dumps(bare(said(item)), sort_keys=True) for item in items]


def main_conversation(records, bare):
    """The prompts of it: those with tools, or of a client that has none (`bare`) all."""
    return [r for r in records if r["method"] == "POST" and (bare or (r["body"] or {}).get("tools"))
            and ("messages" in r["body"] or "input" in r["body"])
            and not r["path"].split("?")[0].endswith("count_tokens")]


def cut(record, files):
    """How many of the files a prompt does not hold whole."""
    texts = [json.dumps(item, ensure_ascii=False) for item in record["body"].get("messages", [])]
    whole = [json.dumps(text, ensure_ascii=False)[1:-1] for text in files.values()]
    return sum(1 for text in whole if not any(text in said for said in texts))


def judge(records, files):
    """Figures of one client's requests."""
    prompts = main_conversation(records, bare=bool(files))
    breaks, before = 0, None
    for record in prompts:
        # Files stand behind what was said, so that each prompt of such a client is a branch.
        now = sent(record["body"]) if not files else []
        if before is not None and now[:len(before)] != before:
            breaks += 1
        before = now
    bad = [r for r in records if r["refused"] and not r["too_long"]]
    return {"prompts": len(prompts), "breaks": breaks, "invalid": len(bad),
            "cut": sum(cut(record, files) for record in prompts),
            "why": bad[0]["refused"] if bad else "", "bytes": sum(r["bytes"] for r in prompts),
            "failed": sum(1 for r in records if r["status"] >= 400)}


def compressions(program, place, store):
    """How often its sessions were compressed, and how many there are: those of the client's project."""
    asked = subprocess.run([program, "session", "list", "--json", "--store", store],
                           cwd=place, capture_output=True, text=True)
    sessions = json.loads(asked.stdout or "[]")
    return sum(session["compressions"] for session in sessions), len(sessions)


def run(client, options, lab, upstream):
    place = lab / "work" / client.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    fill(place)
    for name, text in client.files.items():
        (place / name).write_text(text)
    store = place / "epitome.db"
    fetch(f"{upstream}/__script", json.dumps(client.script).encode(), "POST")
    fetch(f"{upstream}/__log", method="DELETE")
    environment = {**ENVIRONMENT, "PATH": os.environ["PATH"], "HOME": str(place / "home")}
    (place / "home").mkdir(exist_ok=True)
    common = ["--store", store, "--limit", str(options.limit or client.limit), "--anthropic-upstream", upstream,
              "--openai-upstream", upstream, "--ollama-upstream", upstream]
    server, url = None, upstream
    if not options.direct and client.serve:
        server, url = started([options.program, "serve", "--listen", "127.0.0.1:0", *common],
                              cwd=place, env=environment,
                              stderr=(place / "serve.txt").open("w"))
    if client.setup:
        client.setup(place, upstream)
    if options.direct:
        environment |= {"ANTHROPIC_BASE_URL": upstream}
    ended, said = 0, ""
    for turn, prompt in enumerate(PROMPTS):
        command = client.command(lab, prompt, turn, url)
        if command is None:
            break
        if not options.direct and not client.serve:
            command = [options.program, "run", *common, "--", *command]
        ran = subprocess.run([str(it) for it in command], cwd=place, env=environment, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        (place / f"said-{turn}.txt").write_text(f"{ran.stdout}\n--- stderr\n{ran.stderr}")
        ended, said = ended or ran.returncode, ran.stdout
    if server:
        server.terminate()
        server.wait(30)
    log = fetch(f"{upstream}/__log")
    (place / "upstream.jsonl").write_text(log)
    figures = judge([json.loads(line) for line in log.splitlines()], client.files)
    epochs, sessions = (0, 0) if options.direct else compressions(options.program, place, store)
    finished = ended == 0 and "This is done" in said
    good = finished and not figures["invalid"] and not figures["cut"] and figures["failed"] == 0
    if not options.direct:
        good = good and epochs >= 1 and figures["breaks"] <= epochs
    return {"client": client.name, "ok": good, "finished": finished, **figures, "epochs": epochs,
            "sessions": sessions}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--limit", type=int, default=0, help="the provider's limit in tokens, instead of each client's own")
    parser.add_argument("--direct", action="store_true", help="without the proxy, to compare")
    parser.add_argument("clients", nargs="*", help=", ".join(it.name for it in CLIENTS))
    options = parser.parse_args()
    wanted = [it for it in CLIENTS if not options.clients or it.name in options.clients]
    child, upstream = started([options.upstream])
    try:
        columns = ["client", "ok", "finished", "prompts", "invalid", "cut", "failed", "breaks", "epochs",
                   "sessions", "bytes", "seconds"]
        print("  ".join(f"{it:>16}" if it == "client" else f"{it:>9}" for it in columns))
        all_good = True
        for client in wanted:
            before = time.time()
            figures = run(client, options, options.lab, upstream)
            figures["seconds"] = round(time.time() - before, 1)
            all_good &= figures["ok"]
            print("  ".join(f"{figures[it]!s:>16}" if it == "client" else f"{figures[it]!s:>9}"
                            for it in columns), figures["why"], flush=True)
    finally:
        child.terminate()
    sys.exit(0 if all_good else 6)


if __name__ == "__main__":
    main()
