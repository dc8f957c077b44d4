"""Asks the levers over MCP with the inspector and the conformance suite; see `mcp` beside this file."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROTOCOL = ["server-initialize", "ping", "tools-list", "resources-list",
            "server-sse-multiple-streams", "dns-rebinding-protection"]

# Arguments of each tool, as the inspector takes them, and what the answer must hold.
CALLS = {
    "list_augments": ([], "refactoring/small"),
    "activate_augments": (['patterns=["refactoring/*"]'], "One by one."),
    "context_status": ([], "demo"),
    "goal": (["action=set", "text=Mend the parser"], "Mend the parser"),
    "recall": (["query=parser"], "stumbles"),
    "pin": (['entries=["e0"]'], "e0"),
    "snapshot": ([], "messages"),
    "deactivate_augments": (['patterns=["refactoring/*"]'], "refactoring/small"),
    "compress_to_checkpoint": ([], "pending"),
}
WRONG = {
    "recall": (["id=ffffffff"], "ffffffff"),
    "activate_augments": (['patterns=["no/*"]'], "no augment is called"),
    "goal": (["action=finish"], "unknown variant"),
}


class Table:
    def __init__(self):
        self.rows, self.failed = [], 0

    def add(self, what, where, well, note=""):
        self.failed += not well
        self.rows.append((what, where, "ok" if well else "FAILED", " ".join(note.split())[:90]))

    def show(self):
        widths = [max(len(row[at]) for row in self.rows) for at in range(3)]
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths + [0])).rstrip())
        print(f"{len(self.rows) - self.failed} of {len(self.rows)} ok")


class Lab:
    def __init__(self, lab, program):
        self.modules = lab / "npm" / "node_modules"
        self.program = program
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="mcp-", dir=lab))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.place)}
        folder = self.place / "augments" / "refactoring"
        folder.mkdir(parents=True)
        (folder / "small.md").write_text("---\ntitle: Small steps\n---\nOne by one.\n")
        talk = [{"role": "user", "content": "Mend the parser."},
                {"role": "assistant", "content": "The parser stumbles over tabs."}]
        (self.place / "c.json").write_text(json.dumps(talk))
        self.run([program, "session", "import", "c.json", "--name", "demo", "--store", "s.db"])

    def run(self, command, within=60):
        ran = subprocess.run(command, cwd=self.place, env=self.env, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=within)
        return ran.returncode, ran.stdout, ran.stderr

    def inspect(self, server, *arguments):
        inspector = [str(self.modules / ".bin" / "mcp-inspector"), "--cli", *server]
        code, out, err = self.run([*inspector, *arguments])
        try:
            return json.loads(out)
        except json.JSONDecodeError:
            return {"isError": True, "content": [{"text": f"{code}: {out} {err}"}]}

    def serve(self):
        command = [self.program, "serve", "--listen", "127.0.0.1:0", "--store", "s.db",
                   "--workspace", ".", "--anthropic-upstream", "http://127.0.0.1:9", "-q"]
        child = subprocess.Popen(command, cwd=self.place, env=self.env, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return child, child.stdout.readline().strip() + "/mcp"


def tools(lab, table, where, server):
    listed = lab.inspect(server, "--method", "tools/list").get("tools", [])
    names = {tool["name"] for tool in listed}
    table.add("tools/list", where, names == set(CALLS), ", ".join(sorted(names ^ set(CALLS))))
    schemas = all("outputSchema" in tool for tool in listed)
    table.add("output schemas", where, bool(listed) and schemas)
    for calls, wrong in [(CALLS, False), (WRONG, True)]:
        for name, (arguments, expected) in calls.items():
            given = [word for argument in arguments for word in ("--tool-arg", argument)]
            answer = lab.inspect(server, "--method", "tools/call", "--tool-name", name, *given)
            text = json.dumps(answer)
            well = bool(answer.get("isError")) == wrong and expected in text
            label = f"{name}, refused" if wrong else name
            table.add(label, where, well, "" if well else text)


def resources(lab, table, where, server):
    listed = lab.inspect(server, "--method", "resources/list").get("resources", [])
    table.add("resources/list", where, len(listed) == 4)
    for resource in listed:
        read = lab.inspect(server, "--method", "resources/read", "--uri", resource["uri"])
        contents = read.get("contents", [])
        table.add(resource["uri"], where, bool(contents) and "text" in contents[0])


def conformance(lab, table, url):
    node = str(lab.modules / "node" / "bin" / "node")
    suite = str(lab.modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")
    for scenario in PROTOCOL:
        code, out, err = lab.run([node, suite, "server", "--url", url, "--scenario", scenario])
        said = [line for line in (out + err).splitlines() if "assed" in line or "ailed" in line]
        table.add(scenario, "conformance", code == 0, said[-1] if said else err)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    lab, table = Lab(args.lab, os.path.abspath(args.program)), Table()
    stdio = [lab.program, "mcp", "--store", str(lab.place / "s.db")]
    tools(lab, table, "stdio", stdio)
    resources(lab, table, "stdio", stdio)
    child, url = lab.serve()
    try:
        http = [url, "--transport", "http"]
        tools(lab, table, "http", http)
        resources(lab, table, "http", http)
        conformance(lab, table, url)
    finally:
        child.terminate()
        child.wait()
    table.show()
    sys.exit(table.failed > 0)


main()
