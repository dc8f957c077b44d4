--- Conversations for the tests, written as words: `u` a message of the user, `a` a reply, `x` a call
--- of a tool with its result, each with its tokens, then `!` where it is pinned and `*` where a
--- summary stands for it. A call takes a quarter of its exchange. Messages count from 1, the system
--- prompt.
local talk = {}

talk.SYSTEM = 100

local COLUMNS = {
  "role", "speaker", "tokens", "sent", "exchange", "pinned", "tools", "names", "checkpoint", "text",
}

local KINDS = {
  s = { { "system", "harness", 1 } },
  u = { { "user", "human", 1 } },
  a = { { "assistant", "model", 1 } },
  x = { { "assistant", "model", 0.25, true }, { "tool", "tool", 0.75, true } },
}

---@param texts table<integer, string>|nil what is said in these places
---@return table columns, integer sent
local function columns_of(words, texts)
  local columns, exchange, total = { count = 0 }, 0, 0
  for _, name in ipairs(COLUMNS) do
    columns[name] = {}
  end
  for kind, size, pin, star in ("s" .. talk.SYSTEM .. " " .. words):gmatch("(%a)(%d+)(!?)(%*?)") do
    exchange = exchange + 1
    for _, message in ipairs(KINDS[kind]) do
      local at, tokens = columns.count + 1, math.floor(tonumber(size) * message[3])
      columns.count = at
      columns.role[at], columns.speaker[at] = message[1], message[2]
      columns.tokens[at], columns.sent[at] = tokens, star == "" and tokens or 0
      columns.exchange[at], columns.pinned[at] = exchange, pin == "!" or kind == "s"
      columns.tools[at] = message[4] or false
      columns.names[at] = message[4] and { "run_sql" } or {}
      columns.checkpoint[at] = star == "" and 0 or 1
      columns.text[at] = texts and texts[at] or kind .. " says " .. at
      total = total + columns.sent[at]
    end
  end
  return columns, total
end

--- A job for `plan` under this limit, with the bounds that the policy answers. `checkpoint` is the
--- size of the summary that stands for what has a `*`.
---@return table
function talk.job(t, words, limit, more)
  more = more or {}
  local columns, sent = columns_of(words, more.texts)
  local standing = more.checkpoint or 0
  local total = sent + standing
  local budgets = t.hook("budgets", { model = { limit = limit } })
  if more.is_set then
    budgets.soft, budgets.hard, budgets.target = limit, limit, limit
  end
  return {
    model = { limit = limit },
    entries = columns,
    checkpoints = standing > 0 and { { id = "c1", level = 3, tokens = standing } } or {},
    tokens = {
      total = total, system = talk.SYSTEM, checkpoints = standing,
      conversation = sent - talk.SYSTEM,
    },
    budgets = budgets,
    target = budgets.target,
    max_tokens = budgets.hard,
    cause = more.cause or "soft",
    memo = {},
  }
end

return talk
