"""Controls of the ledger: the same work of Claude Code with Epitome and without.

The model is scripted: one task of many rounds, each of which reads a file. In a short task the client
never compacts by itself; in a long one it does, in between. The upstream counts what each prompt read from
its cache, wrote to it and neither, and by the list prices of the model that is what both runs cost. Their
difference is held beside what `epitome savings` says. It counts four characters for a token, as we do of
words; of what is denser and was never sent to it, a saving would be that of our count. Called by `money`.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import clients
from clients import call, fetch, started

# US dollars for a million tokens: not cached, written, read, of the answer.
PRICES = {
    "claude-sonnet-4-5": (3.0, 3.75, 0.30, 15.0),
    "claude-opus-4-5": (5.0, 6.25, 0.50, 25.0),
}
# The largest prompt that those models take, in tokens.
WINDOW = 200_000
# How far a printed range may be from the measured saving, and where that is small against what was paid:
# of that.
TOLERANCE, OF_BILL = 0.10, 0.02


class Case:
    """Work of one model: how many lines each round reads, the context size of Epitome, and the variables of
    the client."""

    def __init__(self, name, model, lines, size=None, **variables):
        self.name, self.model, self.lines, self.variables = name, model, lines, variables
        self.flags = ["--context-size", str(size)] if size else []


def cases(model):
    """One without a compaction by the client, and three with some: at the ceiling, and where it was told."""
    short, long = 36, 110
    name, told = model.split("-")[1], str(WINDOW)
    yield Case(f"{name}-short", model, short, 60_000)
    yield Case(f"{name}-long", model, long)
    yield Case(f"{name}-tight", model, long, 60_000)
    yield Case(f"{name}-told", model, long, 60_000, CLAUDE_CODE_AUTO_COMPACT_WINDOW=told)


CASES = [case for model in PRICES for case in cases(model)]
WORDS = """the a this that each service cluster deployment release team request answer reader writer worker
queue table index record report monitor morning evening started stopped waited returned changed failed passed
moved before after because while until with without from into over under another every first second last next
slow quick large small green broken quiet network storage customer invoice account message window budget
schedule manager engineer question reason problem remedy""".split()


def fill(place, rounds, lines):
    """A file for each round, of words that all providers count alike: four characters a token."""
    dice = random.Random(7)
    for number in range(1, rounds + 1):
        said = [" ".join(dice.choice(WORDS) for _ in range(10)) + "." for _ in range(lines)]
        (place / f"log-{number}.txt").write_text("\n".join(said))


def script(requests):
    read = call("Bash", command="cat log-{turn}.txt", description="Look")
    turns = [{"text": "I look at the next one.", "calls": [read]}] * (requests - 1)
    return {"turns": [*turns, {"text": "This is done: see above."}], "limit": WINDOW}


def bill(records):
    """What the provider charges for the requests that it took."""
    dollars = 0.0
    for record in records:
        usage = record["usage"]
        if record["status"] != 200 or not sum(usage.values()):
            continue
        counts = usage["uncached"], usage["written"], usage["read"], usage["output"]
        dollars += sum(map(lambda n, price: n * price, counts, PRICES[record["body"]["model"]])) / 1e6
    return dollars


def is_compaction(record):
    """Whether the client has its own history summed up."""
    messages = record["body"].get("messages") or [{}]
    return "create a detailed summary of the conversation" in json.dumps(messages[-1]).lower()


def work(case, options, place, before):
    """Runs the client, `before` it the words of Epitome; gives its bill and figures. Its provider is new,
    so that nothing is in its cache."""
    child, upstream = started([options.upstream])
    try:
        return work_at(upstream, case, options, place, before)
    finally:
        child.terminate()


def work_at(upstream, case, options, place, before):
    shutil.rmtree(place, ignore_errors=True)
    (place / "home").mkdir(parents=True)
    fill(place, options.requests, case.lines)
    fetch(f"{upstream}/__script", json.dumps(script(options.requests)).encode(), "POST")
    environment = {**clients.ENVIRONMENT, "PATH": os.environ["PATH"], "HOME": str(place / "home"),
                   "ANTHROPIC_MODEL": case.model, "ANTHROPIC_SMALL_FAST_MODEL": case.model,
                   "ANTHROPIC_DEFAULT_HAIKU_MODEL": case.model,
                   # As at the provider itself: the client leaves it out for any other address.
                   "ENABLE_TOOL_SEARCH": "true", **case.variables}
    if before:
        before = [*before, "--anthropic-upstream", upstream, "--"]
    else:
        environment["ANTHROPIC_BASE_URL"] = upstream
    command = [*before, *clients.claude(options.lab, "Read all logs, one after the other.", 0, None)]
    ran = subprocess.run([str(it) for it in command], cwd=place, env=environment, text=True,
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=1800)
    (place / "said.txt").write_text(f"{ran.stdout}\n--- stderr\n{ran.stderr}")
    if ran.returncode or "This is done" not in ran.stdout:
        raise SystemExit(f"{case.name}: the client ended with {ran.returncode}; see {place}/said.txt")
    log = fetch(f"{upstream}/__log")
    if options.keep:
        (place / "upstream.jsonl").write_text(log)
    records = [json.loads(line) for line in log.splitlines()]
    prompts = [one for one in records if one["method"] == "POST" and "messages" in (one["body"] or {})
               and "count_tokens" not in one["path"]]
    return {"bill": bill(prompts), "requests": len(prompts),
            "compactions": sum(map(is_compaction, prompts))}


def run(case, options):
    place = options.lab / "work" / f"money-{case.name}"
    alone = work(case, options, place / "alone", [])
    inside = place / "with"
    store = inside / "epitome.db"
    with_it = work(case, options, inside, [options.program, "run", "--store", store, *case.flags])
    told = subprocess.run([options.program, "savings", "--store", store, "--json"], cwd=inside,
                          capture_output=True, text=True, check=True)
    told = json.loads(told.stdout)["all"]
    least, most = told["saved"]["least"], told["saved"]["most"]
    measured = alone["bill"] - with_it["bill"]
    # Where a range is printed, the truth is to lie in it.
    off = max(least - measured, measured - most, 0.0)
    allowed = max(TOLERANCE * abs(measured), OF_BILL * alone["bill"])
    paid = told["paid"] / with_it["bill"] - 1
    return {"case": case.name, "ok": off <= allowed and abs(paid) < 1e-6,
            "requests": with_it["requests"], "own": alone["compactions"],
            "alone": f"{alone['bill']:.3f}", "with": f"{with_it['bill']:.3f}",
            "measured": f"{measured:.3f}", "least": f"{least:.3f}", "most": f"{most:.3f}",
            "off": f"{100 * off / abs(measured):.1f} %"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--requests", type=int, default=160)
    parser.add_argument("--keep", action="store_true", help="keep what reached the upstream")
    parser.add_argument("cases", nargs="*", help=", ".join(it.name for it in CASES))
    options = parser.parse_args()
    wanted = [it for it in CASES if not options.cases or it.name in options.cases]
    columns = ["case", "ok", "requests", "own", "alone", "with", "measured", "least", "most", "off",
               "seconds"]
    print("  ".join(f"{it:>14}" if it == "case" else f"{it:>8}" for it in columns))
    all_good = True
    for case in wanted:
        before = time.time()
        figures = run(case, options)
        figures["seconds"] = round(time.time() - before, 1)
        all_good &= figures["ok"]
        print("  ".join(f"{figures[it]!s:>14}" if it == "case" else f"{figures[it]!s:>8}"
                        for it in columns), flush=True)
    sys.exit(0 if all_good else 6)


if __name__ == "__main__":
    main()
