--- Conversations for the tests: messages, each as a table, and the job of `plan` that they make.
---
--- `{ "u", 400, "text" }` is a message of a person, `a` one of the model, `r` the result of a tool,
--- `c` a call; `s`, a system prompt of 100 tokens, stands first. A result belongs to the calls
--- before it. Fields by name: `tool`, `args` and `input` of a call, `pinned`, and `checkpoint`
--- where the summary of that number stands for it.
local talk = {}

talk.SYSTEM = 100

local KINDS = {
  s = { "system", "harness" }, u = { "user", "human" }, a = { "assistant", "model" },
  c = { "assistant", "model" }, r = { "tool", "tool" },
}

local COLUMNS = {
  "role", "speaker", "tokens", "sent", "exchange", "pinned", "tools", "names", "checkpoint",
  "inputs", "text",
}

--- A call that writes a file of so many lines, as it is on disk.
---@return table
function talk.write(path, lines, tokens, more)
  local content = ("a line of the file\n"):rep(lines)
  local input = { call = 1, tool = "write_file", path = path, tokens = tokens }
  input.persisted, input.ok = true, true
  for key, value in pairs(more or {}) do
    input[key] = value
  end
  local args = ep.json.encode({ path = path, content = content })
  return { "c", tokens, tool = input.tool, args = args, input = input }
end

local function columns_of(messages)
  local columns, exchange, total = { count = #messages }, 0, 0
  for _, name in ipairs(COLUMNS) do
    columns[name] = {}
  end
  for at, message in ipairs(messages) do
    local kind = KINDS[message[1]]
    local is_tool = message[1] == "c" or message[1] == "r"
    exchange = message[1] == "r" and exchange or exchange + 1
    local standing = message.checkpoint or 0
    columns.role[at], columns.speaker[at] = kind[1], kind[2]
    columns.tokens[at], columns.sent[at] = message[2], standing == 0 and message[2] or 0
    columns.exchange[at], columns.checkpoint[at] = exchange, standing
    columns.pinned[at] = message.pinned or message[1] == "s"
    columns.tools[at], columns.names[at] = is_tool, is_tool and { message.tool or "bash" } or {}
    columns.inputs[at] = message.input and { message.input } or {}
    local said = message[3] or message[1] .. " says " .. at
    columns.text[at] = message.args and message.tool .. "(" .. message.args .. ")" or said
    total = total + columns.sent[at]
  end
  return columns, total
end

--- A job for `plan` under this limit, with the bounds that the policy answers. `total` fills the
--- prompt up to a size; `checkpoint` is the size of the summary that stands for others.
---@return table
function talk.job(t, messages, limit, more)
  more = more or {}
  local all = { { "s", talk.SYSTEM } }
  for at, message in ipairs(messages) do
    all[at + 1] = message
  end
  local columns, sent = columns_of(all)
  local standing = more.checkpoint or 0
  local total = more.total or sent + standing
  local budgets = t.hook("budgets", { model = { limit = limit } })
  return {
    session = more.session or "talk",
    workspace = more.workspace or false,
    compressions = more.compressions or 0,
    model = { limit = limit },
    entries = columns,
    checkpoints = standing > 0 and { { id = "c1", level = 3, tokens = standing } } or {},
    tokens = {
      total = total, system = talk.SYSTEM, checkpoints = standing,
      conversation = total - talk.SYSTEM - standing,
    },
    budgets = budgets,
    floor = talk.SYSTEM,
    target = budgets.target,
    max_tokens = budgets.hard,
    cause = more.cause or "soft",
    memo = more.memo or {},
  }
end

--- The operations that a plan answers, each as `{ op, its messages, target }`.
---@return table ops, Orders orders
function talk.ops(t, job, options)
  local orders, ops = t.hook("plan", job, options), {}
  for at, op in ipairs(orders.ops) do
    ops[at] = { op.op, op.entries or { op.entry }, op.target }
  end
  return ops, orders
end

return talk
