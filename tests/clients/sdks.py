"""Asks the scripted provider with the packages of the real ones, directly and through the proxy.

Each check scripts the provider, asks, and holds what the package made of the answer against what was
scripted. Called by `sdks`.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import warnings

import anthropic
import ollama
import openai

from clients import ENVIRONMENT, fetch, started

SAID = "The valve is shut, and the log of unit 7 names pump-12."
LIMIT = 2000
TOO_LONG = "The valve of unit 7 leaks. " * 800
SCHEMA = {"type": "object", "properties": {"unit": {"type": "string"}}, "required": ["unit"]}
CALLS = [{"name": "open_valve", "input": {"unit": "7"}}, {"name": "read_log", "input": {"unit": "8"}}]
CALLED = [("open_valve", {"unit": "7"}), ("read_log", {"unit": "8"})]
QUESTION = "Which valve is shut?"


class Lab:
    """The scripted provider, and the address at which it is asked."""

    def __init__(self, upstream, url):
        self.upstream, self.url = upstream, url

    def script(self, *faults, **more):
        turn = {"text": SAID, **more.pop("turn", {})}
        script = {"plain": True, "turns": [turn], "repeat": 99, "faults": list(faults), **more}
        fetch(f"{self.upstream}/__script", json.dumps(script).encode(), "POST")
        fetch(f"{self.upstream}/__log", method="DELETE")

    def prompts(self):
        """The requests that arrived with a body, and how each was answered."""
        records = [json.loads(line) for line in fetch(f"{self.upstream}/__log").splitlines()]
        return [record for record in records if record["method"] == "POST"]


def same(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def holds(found, what):
    assert what in str(found), f"no {what!r} in {found!r}"


def raises(kinds, ask):
    """What asking raises, which must be one of these kinds."""
    try:
        ask()
    except kinds as error:
        return error
    raise AssertionError("no error was raised")


def retried(lab, ask, *statuses):
    """Asks where the first prompts are refused."""
    lab.script(*[f"status {status}" for status in statuses])
    ask()
    same([it["status"] for it in lab.prompts()], [*statuses, 200])


class Anthropic:
    """The package `anthropic`."""

    def __init__(self, lab):
        self.lab, self.client = lab, anthropic.Anthropic(base_url=lab.url, api_key="sk-test")

    def ask(self, text=QUESTION, **more):
        return dict(model="claude-sonnet-4-5", max_tokens=4000,
                    messages=[{"role": "user", "content": text}], **more)

    def create(self, **more):
        return self.client.messages.create(**self.ask(**more))

    def final(self, **more):
        with self.client.messages.stream(**self.ask(**more)) as stream:
            return stream.get_final_message()

    def answer(self, get):
        self.lab.script(turn={"thinking": "The log first."})
        message = get(thinking={"type": "enabled", "budget_tokens": 2000})
        same([block.type for block in message.content], ["thinking", "text"])
        assert message.content[0].signature
        same((message.content[1].text, message.stop_reason), (SAID, "end_turn"))
        assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0

    def whole(self):
        self.answer(self.create)

    def stream(self):
        self.answer(self.final)

    def stream_events(self):
        self.lab.script(pings=True, chunk=11)
        events = list(self.client.messages.create(**self.ask(), stream=True))
        same((events[0].type, events[-1].type), ("message_start", "message_stop"))
        deltas = [it.delta for it in events if it.type == "content_block_delta"]
        same("".join(it.text for it in deltas if it.type == "text_delta"), SAID)

    def tools(self):
        tools = [{"name": call["name"], "input_schema": SCHEMA} for call in CALLS]
        for get in (self.create, self.final):
            self.lab.script(turn={"calls": CALLS})
            message = get(tools=tools)
            calls = [block for block in message.content if block.type == "tool_use"]
            same([(call.name, call.input) for call in calls], CALLED)
            same(message.stop_reason, "tool_use")
            self.lab.script()
            messages = [{"role": "user", "content": QUESTION},
                        {"role": "assistant", "content": message.content},
                        {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": call.id, "content": "done"}
                            for call in calls]}]
            last = self.client.messages.create(**{**self.ask(tools=tools), "messages": messages})
            same(last.content[0].text, SAID)

    def count_tokens(self):
        count = self.client.messages.count_tokens(model="claude-sonnet-4-5",
                                                  messages=self.ask()["messages"])
        assert 0 < count.input_tokens < 100, count

    def models(self):
        same([model.id for model in self.client.models.list()], ["mock-1"])
        same(self.client.models.retrieve("mock-1").id, "mock-1")

    def too_many_requests(self):
        retried(self.lab, self.create, 429)
        retried(self.lab, self.final, 429)

    def overloaded(self):
        retried(self.lab, self.create, 529, 500)

    def no_key(self):
        self.lab.script("status 401")
        holds(raises(anthropic.AuthenticationError, self.create), "authentication_error")

    def too_long(self):
        for get in (self.create, self.final):
            self.lab.script(limit=LIMIT)
            error = raises(anthropic.BadRequestError, lambda: get(text=TOO_LONG))
            holds(error, "prompt is too long")

    def error_in_stream(self):
        self.lab.script("error")
        holds(raises(anthropic.APIStatusError, self.final), "Overloaded")

    def cut_stream(self):
        self.lab.script("cut")
        raises(Exception, self.final)


class OpenAi:
    """The package `openai`: chat completions and responses."""

    def __init__(self, lab):
        self.lab, self.client = lab, openai.OpenAI(base_url=lab.url + "/v1", api_key="sk-test")

    def ask(self, text=QUESTION, **more):
        return dict(model="gpt-4o", messages=[{"role": "user", "content": text}], **more)

    def create(self, **more):
        return self.client.chat.completions.create(**self.ask(**more))

    def final(self, **more):
        usage = {"include_usage": True}
        with self.client.chat.completions.stream(**self.ask(**more), stream_options=usage) as stream:
            return stream.get_final_completion()

    def answer(self, get):
        self.lab.script()
        completion = get()
        choice = completion.choices[0]
        same((choice.message.content, choice.finish_reason), (SAID, "stop"))
        usage = completion.usage
        assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
        same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)

    def whole(self):
        self.answer(self.create)

    def stream(self):
        self.answer(self.final)

    def stream_events(self):
        self.lab.script(pings=True, chunk=11)
        chunks = list(self.create(stream=True))
        same("".join(it.choices[0].delta.content or "" for it in chunks), SAID)
        same([it.usage for it in chunks if it.usage], [])

    def tools(self):
        tools = [{"type": "function", "function": {"name": call["name"], "parameters": SCHEMA}}
                 for call in CALLS]
        for get in (self.create, self.final):
            self.lab.script(turn={"calls": CALLS})
            choice = get(tools=tools).choices[0]
            calls = choice.message.tool_calls
            same([(it.function.name, json.loads(it.function.arguments)) for it in calls], CALLED)
            same(choice.finish_reason, "tool_calls")
            self.lab.script()
            said = {"role": "assistant", "content": choice.message.content, "tool_calls": [
                {"id": it.id, "type": "function", "function": {
                    "name": it.function.name, "arguments": it.function.arguments}} for it in calls]}
            results = [{"role": "tool", "tool_call_id": it.id, "content": "done"} for it in calls]
            messages = [{"role": "user", "content": QUESTION}, said, *results]
            last = self.client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
            same(last.choices[0].message.content, SAID)

    def respond(self, **more):
        return self.client.responses.create(model="gpt-5", input=QUESTION, **more)

    def respond_streaming(self, **more):
        with self.client.responses.stream(model="gpt-5", input=QUESTION, **more) as stream:
            return stream.get_final_response()

    def responses(self):
        tools = [{"type": "function", "name": call["name"], "parameters": SCHEMA, "strict": False}
                 for call in CALLS]
        for get in (self.respond, self.respond_streaming):
            self.lab.script()
            answer = get()
            same((answer.output_text, answer.status), (SAID, "completed"))
            assert answer.usage.input_tokens > 0
            self.lab.script(turn={"calls": CALLS})
            items = [it for it in get(tools=tools).output if it.type == "function_call"]
            same([(it.name, json.loads(it.arguments)) for it in items], CALLED)

    def models(self):
        same([model.id for model in self.client.models.list()], ["mock-1"])
        same(self.client.models.retrieve("mock-1").id, "mock-1")

    def too_many_requests(self):
        for get in (self.create, self.final, self.respond):
            retried(self.lab, get, 429)

    def overloaded(self):
        retried(self.lab, self.create, 500, 503)

    def no_key(self):
        self.lab.script("status 401")
        holds(raises(openai.AuthenticationError, self.create).code, "invalid_api_key")

    def too_long(self):
        ask = self.client.responses.create
        for get in (lambda: self.create(text=TOO_LONG), lambda: self.final(text=TOO_LONG),
                    lambda: ask(model="gpt-5", input=TOO_LONG)):
            self.lab.script(limit=LIMIT)
            same(raises(openai.BadRequestError, get).code, "context_length_exceeded")

    def error_in_stream(self):
        self.lab.script("error")
        holds(raises(openai.APIError, self.final), "Overloaded")
        # The package hands on events of its own API, and leaves it to its user to read them.
        self.lab.script("error")
        last = list(self.respond(stream=True))[-1]
        same((last.type, last.message), ("error", "Overloaded"))

    def cut_stream(self):
        self.lab.script("cut")
        raises(Exception, self.final)
        self.lab.script("cut")
        error = raises(Exception, self.respond_streaming)
        if isinstance(error, RuntimeError):  # it ended with an event that says so
            holds(error, "Didn't receive a `response.completed` event")


class Ollama:
    """The package `ollama`."""

    def __init__(self, lab):
        self.lab, self.client = lab, ollama.Client(host=lab.url)

    def create(self, text=QUESTION, **more):
        messages = [{"role": "user", "content": text}]
        return self.client.chat(model="mock-1", messages=messages, options={"num_ctx": 8192}, **more)

    def final(self, **more):
        """The pieces of a stream as one answer."""
        pieces = list(self.create(stream=True, **more))
        last = pieces[-1]
        last.message.content = "".join(it.message.content or "" for it in pieces)
        last.message.thinking = "".join(it.message.thinking or "" for it in pieces)
        last.message.tool_calls = [call for it in pieces for call in it.message.tool_calls or []]
        return last

    def answer(self, get):
        self.lab.script(turn={"thinking": "The log first."})
        answer = get(think=True)
        same((answer.message.content, answer.done, answer.done_reason), (SAID, True, "stop"))
        holds(answer.message.thinking, "The log first.")
        assert answer.prompt_eval_count > 0 and answer.eval_count > 0

    def whole(self):
        self.answer(self.create)

    def stream(self):
        self.answer(self.final)

    def stream_events(self):
        self.lab.script(chunk=11)
        same([it.done for it in self.create(stream=True)][-2:], [False, True])

    def tools(self):
        tools = [{"type": "function", "function": {"name": call["name"], "parameters": SCHEMA}}
                 for call in CALLS]
        for get in (self.create, self.final):
            self.lab.script(turn={"calls": CALLS})
            message = get(tools=tools).message
            calls = [it.function for it in message.tool_calls]
            same([(it.name, dict(it.arguments)) for it in calls], CALLED)
            self.lab.script()
            results = [{"role": "tool", "tool_name": it.name, "content": "done"} for it in calls]
            messages = [{"role": "user", "content": QUESTION}, message, *results]
            last = self.client.chat(model="mock-1", messages=messages, tools=tools)
            same(last.message.content, SAID)

    def show(self):
        shown = self.client.show("mock-1")
        same(shown.modelinfo["mock.context_length"], 8192)
        holds(shown.capabilities, "tools")
        same(shown.details.family, "mock")

    def tags(self):
        same([(it.model, it.details.format) for it in self.client.list().models],
             [("mock-1", "gguf")])

    def too_many_requests(self):
        # The package asks once; the next question is answered.
        for get in (self.create, self.final):
            self.lab.script("status 429")
            same(raises(ollama.ResponseError, get).status_code, 429)
            same(get().message.content, SAID)

    def no_model(self):
        self.lab.script("status 404")
        same(raises(ollama.ResponseError, self.create).status_code, 404)

    def too_long(self):
        # It cuts in silence: the figures alone say so.
        self.lab.script(limit=LIMIT)
        answer = self.create(text=TOO_LONG)
        same(answer.message.content, SAID)
        assert answer.prompt_eval_count <= LIMIT, f"{answer.prompt_eval_count} tokens were read"

    def error_in_stream(self):
        self.lab.script("error")
        holds(raises(ollama.ResponseError, self.final), "Overloaded")

    def cut_stream(self):
        self.lab.script("cut")
        raises(Exception, self.final)


PACKAGES = {"anthropic": Anthropic, "openai": OpenAi, "ollama": Ollama}


def run(name, package, where, lab):
    """Runs the checks of a package: its public methods that ask for nothing."""
    helpers = {"ask", "create", "final", "answer", "respond", "respond_streaming"}
    checks = [it for it in vars(package) if not it.startswith("_") and it not in helpers]
    missed = 0
    for check in checks:
        why = ""
        try:
            getattr(package(lab), check)()
        except Exception as error:  # whatever a package raises is what it makes of the answer
            missed, why = missed + 1, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        verdict = f"FAILED  {why}" if why else "ok"
        print(f"{name:<10} {where:<8} {check.replace('_', ' '):<18} {verdict}", flush=True)
    return missed, len(checks)


def main():
    # Models grow old; those that are named here answer for ever.
    warnings.simplefilter("ignore", DeprecationWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("packages", nargs="*", help=", ".join(PACKAGES))
    options = parser.parse_args()
    place = options.lab / "work" / "sdks"
    shutil.rmtree(place, ignore_errors=True)
    (place / "home").mkdir(parents=True)
    provider, upstream = started([options.upstream])
    environment = {**ENVIRONMENT, "PATH": os.environ["PATH"], "HOME": str(place / "home")}
    command = [os.path.abspath(options.program), "serve", "--listen", "127.0.0.1:0", "--store",
               place / "epitome.db", "--anthropic-upstream", upstream, "--openai-upstream", upstream,
               "--ollama-upstream", upstream]
    children = [provider]
    missed = all_checks = 0
    try:
        server, url = started(command, cwd=place, env=environment,
                              stderr=(place / "serve.txt").open("w"))
        children.append(server)
        for where, address in [("direct", upstream), ("serve", url)]:
            for name, package in PACKAGES.items():
                if not options.packages or name in options.packages:
                    failed, count = run(name, package, where, Lab(upstream, address))
                    missed, all_checks = missed + failed, all_checks + count
    finally:
        for child in children:
            child.terminate()
    print(f"{all_checks - missed} of {all_checks} ok")
    sys.exit(6 if missed else 0)


if __name__ == "__main__":
    main()
