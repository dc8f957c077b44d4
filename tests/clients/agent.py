"""A small agent on a provider's own package: asks, calls its tools in parallel, goes on.

Usage: agent.py anthropic|openai|responses|ollama BASE_URL. Streams on every second turn.
Ends with the last text on standard output.
"""

import json
import sys


def run_tool(name, arguments):
    """What the tools say: a log and a table, different in each call."""
    n = arguments.get("n", 0)
    if name == "read_log":
        lines = [f"10:{i // 60:02d}:{i % 60:02d} INFO w{i % 7} run={n} item {i} took {(i * 37 + int(n)) % 900}ms"
                 for i in range(250)]
        lines[137] = f"10:02:17 FATAL w3 run={n} out of memory: killed pid {8000 + int(n)}"
        return "\n".join(lines)
    return json.dumps([{"id": f"{n}-{i}", "state": "fail" if i == 41 else "ok", "score": i * 7 % 100}
                       for i in range(150)])


SYSTEM = "You keep the billing service running."
PROMPTS = ["Find out why the deployment fails. Keep port 8443.", "And now the second cluster.",
           "Sum up what you found."]
TOOLS = {"read_log": "Reads the log of a run", "query": "Queries the table of jobs"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}


def anthropic_agent(base):
    import anthropic

    client = anthropic.Anthropic(base_url=base, api_key="sk-test")
    tools = [{"name": n, "description": d, "input_schema": SCHEMA} for n, d in TOOLS.items()]
    messages = []
    for prompt in PROMPTS:
        messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
        while True:
            ask = dict(model="claude-sonnet-4-5", max_tokens=4000, messages=messages, tools=tools,
                       system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
                       thinking={"type": "enabled", "budget_tokens": 2000})
            for message in messages:
                for block in message["content"]:
                    block.pop("cache_control", None)
            messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
            if len(messages) % 4:
                with client.messages.stream(**ask) as stream:
                    answer = stream.get_final_message()
            else:
                answer = client.messages.create(**ask)
            messages.append({"role": "assistant",
                             "content": [b.model_dump(exclude_none=True) for b in answer.content]})
            calls = [b for b in answer.content if b.type == "tool_use"]
            if not calls:
                break
            messages.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": c.id, "content": run_tool(c.name, c.input)}
                for c in calls]})
    count = client.messages.count_tokens(model="claude-sonnet-4-5", messages=messages, tools=tools)
    assert count.input_tokens > 0
    return "".join(b.text for b in answer.content if b.type == "text")


def openai_agent(base):
    import openai

    client = openai.OpenAI(base_url=base + "/v1", api_key="sk-test")
    tools = [{"type": "function", "function": {"name": n, "description": d, "parameters": SCHEMA}}
             for n, d in TOOLS.items()]
    messages = [{"role": "system", "content": SYSTEM}]
    for prompt in PROMPTS:
        messages.append({"role": "user", "content": prompt})
        while True:
            ask = dict(model="gpt-4o", messages=messages, tools=tools)
            if len(messages) % 4:
                with client.chat.completions.stream(**ask, stream_options={"include_usage": True}) as stream:
                    answer = stream.get_final_completion()
            else:
                answer = client.chat.completions.create(**ask)
            assert answer.usage.prompt_tokens > 0
            said = answer.choices[0].message
            messages.append({"role": "assistant", "content": said.content, **({"tool_calls": [
                {"id": c.id, "type": "function",
                 "function": {"name": c.function.name, "arguments": c.function.arguments}}
                for c in said.tool_calls]} if said.tool_calls else {})})
            if not said.tool_calls:
                break
            for c in said.tool_calls:
                messages.append({"role": "tool", "tool_call_id": c.id,
                                 "content": run_tool(c.function.name, json.loads(c.function.arguments))})
    return said.content


def responses_agent(base):
    import openai

    client = openai.OpenAI(base_url=base + "/v1", api_key="sk-test")
    tools = [{"type": "function", "name": n, "description": d, "parameters": SCHEMA}
             for n, d in TOOLS.items()]
    items = []
    turn = 0
    for prompt in PROMPTS:
        items.append({"role": "user", "content": prompt})
        while True:
            turn += 1
            ask = dict(model="gpt-5", instructions=SYSTEM, input=items, tools=tools, store=False,
                       reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"])
            if turn % 2:
                with client.responses.stream(**ask) as stream:
                    answer = stream.get_final_response()
            else:
                answer = client.responses.create(**ask)
            items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"})
                      for item in answer.output]
            for item in items:
                for part in item.get("content") or [] if isinstance(item.get("content"), list) else []:
                    part.pop("parsed", None)
            calls = [i for i in answer.output if i.type == "function_call"]
            if not calls:
                break
            items += [{"type": "function_call_output", "call_id": c.call_id,
                       "output": run_tool(c.name, json.loads(c.arguments))} for c in calls]
    return answer.output_text


def ollama_agent(base):
    import ollama

    client = ollama.Client(host=base)
    assert client.list().models and client.show("mock-1").capabilities
    tools = [{"type": "function", "function": {"name": n, "description": d, "parameters": SCHEMA}}
             for n, d in TOOLS.items()]
    messages = [{"role": "system", "content": SYSTEM}]
    for prompt in PROMPTS:
        messages.append({"role": "user", "content": prompt})
        while True:
            ask = dict(model="mock-1", messages=messages, tools=tools, options={"num_ctx": 32768})
            if len(messages) % 4:
                text, calls = "", []
                for piece in client.chat(**ask, stream=True):
                    text += piece.message.content or ""
                    calls += piece.message.tool_calls or []
            else:
                answer = client.chat(**ask)
                text, calls = answer.message.content, answer.message.tool_calls or []
            messages.append({"role": "assistant", "content": text, **({"tool_calls": [
                {"function": {"name": c.function.name, "arguments": dict(c.function.arguments)}}
                for c in calls]} if calls else {})})
            if not calls:
                break
            messages += [{"role": "tool", "tool_name": c.function.name,
                          "content": run_tool(c.function.name, c.function.arguments)} for c in calls]
    return text


if __name__ == "__main__":
    kind, base = sys.argv[1:3]
    print(globals()[f"{kind}_agent"](base.rstrip("/")))
