--- Conversations for the tests, written as words:
---   `u` a message of the user, `a` a reply, `x` a call of a tool with its result, `m` a mark with
---   its result, `p` a mark that is called beside another tool, `o` a mark whose result is missing,
---   `r` a reply of reasoning.
--- Behind it the tokens, then `!` where it is pinned. Messages count from 1, the system prompt.
local talk = {}

local SYSTEM = 100

local COLUMNS = {
  "role", "speaker", "tokens", "sent", "exchange", "pinned", "tools", "names", "key", "checkpoint",
  "text",
}

--- What each message of an exchange is: its role, its speaker, the tools that it names, and its
--- share of the tokens.
local KINDS = {
  s = { { "system", "harness", {}, 1 } },
  u = { { "user", "human", {}, 1 } },
  a = { { "assistant", "model", {}, 1 } },
  r = { { "assistant", "model", {}, 1 } },
  x = { { "assistant", "model", { "read" }, 0.25 }, { "user", "tool", { "read" }, 0.75 } },
  m = {
    { "assistant", "model", { "deactivate_augments" }, 0.25 },
    { "user", "tool", { "deactivate_augments" }, 0.75 },
  },
  p = {
    { "assistant", "model", { "read", "deactivate_augments", "list" }, 0.25 },
    { "user", "tool", { "read", "deactivate_augments", "list" }, 0.75 },
  },
  o = { { "assistant", "model", { "deactivate_augments" }, 1 } },
}

--- The columns of a conversation. `texts` and `names` say otherwise what stands in a place.
---@param words string
---@param more { texts: table<integer, string>|nil, names: table<integer, string[]>|nil }|nil
---@return table columns, integer total
function talk.columns(words, more)
  local columns, exchange, total = { count = 0 }, 0, 0
  for _, name in ipairs(COLUMNS) do
    columns[name] = {}
  end
  for kind, size, pin in ("s" .. SYSTEM .. " " .. words):gmatch("(%a)(%d+)(!?)") do
    exchange = exchange + 1
    for _, message in ipairs(KINDS[kind]) do
      local at, tokens = columns.count + 1, math.floor(tonumber(size) * message[4])
      columns.count, total = at, total + tokens
      columns.role[at], columns.speaker[at] = message[1], message[2]
      columns.tokens[at], columns.sent[at] = tokens, tokens
      columns.exchange[at], columns.pinned[at] = exchange, pin == "!" or kind == "s"
      columns.names[at] = (more and more.names or {})[at] or message[3]
      columns.tools[at] = #columns.names[at] > 0
      columns.key[at], columns.checkpoint[at] = "k" .. at, 0
      columns.text[at] = (more and more.texts or {})[at] or kind .. " says " .. at
    end
  end
  return columns, total
end

--- A job for `plan`: the turn after something was marked, in a window that is large enough.
---@param words string
---@param more table|nil fields of the job; `texts` and `names` go into the columns
---@return table
function talk.job(words, more)
  local job = { cause = "manual", target = 50000, max_tokens = 90000, floor = SYSTEM, memo = {} }
  local given = {}
  for key, value in pairs(more or {}) do
    if key == "texts" or key == "names" then
      given[key] = value
    else
      job[key] = value
    end
  end
  local columns, total = talk.columns(words, given)
  job.entries = columns
  job.tokens = { total = total, system = SYSTEM, conversation = total - SYSTEM }
  return job
end

return talk
