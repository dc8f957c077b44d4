--- Conversations for the tests, written as words: `u` a message of the user, `a` a reply, `x` a call
--- of a tool with its result, `y` a call of two tools with a result each. Behind it the tokens, then
--- `!` where it is pinned. Messages count from 1, the system prompt of 500 tokens.
local talk = {}

talk.SYSTEM = 500

--- What a test may say of some places, and the column of it.
talk.SAID = { texts = "text", inputs = "inputs" }

local COLUMNS = {
  "role", "speaker", "tokens", "sent", "exchange", "pinned", "tools", "checkpoint",
  "text", "inputs",
}

--- What each message of an exchange is: its role, its speaker, whether it is of a tool, and its
--- share of the tokens.
local KINDS = {
  s = { { "system", "harness", false, 1 } },
  u = { { "user", "human", false, 1 } },
  a = { { "assistant", "model", false, 1 } },
  x = { { "assistant", "model", true, 0.25 }, { "tool", "tool", true, 0.75 } },
  y = {
    { "assistant", "model", true, 0.25 },
    { "tool", "tool", true, 0.25 },
    { "tool", "tool", true, 0.5 },
  },
}

--- The columns of a conversation, and the tokens that it takes without the system prompt.
---@param words string
---@return table columns, integer tokens
function talk.columns(words)
  local columns, exchange, total = { count = 0 }, 0, -talk.SYSTEM
  for _, name in ipairs(COLUMNS) do
    columns[name] = {}
  end
  for kind, size, pin in ("s" .. talk.SYSTEM .. " " .. words):gmatch("(%a)(%d+)(!?)") do
    exchange = exchange + 1
    for _, message in ipairs(KINDS[kind]) do
      local at, tokens = columns.count + 1, math.floor(tonumber(size) * message[4])
      columns.count, total = at, total + tokens
      columns.role[at], columns.speaker[at] = message[1], message[2]
      columns.tokens[at], columns.sent[at] = tokens, tokens
      columns.exchange[at], columns.pinned[at] = exchange, pin == "!" or kind == "s"
      columns.tools[at], columns.checkpoint[at] = message[3], 0
      columns.text[at], columns.inputs[at] = kind .. " says " .. at, {}
    end
  end
  return columns, total
end

--- A job for `plan`, with checkpoints (`{ level, age, tokens }`) and with the budgets that the policy
--- gives it. The window is one of class 3.
---@param t table
---@param words string
---@param more table|nil `texts` and `inputs`: what is said and written in some places; fields that
--- are neither these nor `checkpoints` or `options` are the job's
---@return table
function talk.job(t, words, more)
  more = more or {}
  local job = { model = { size = 16384, limit = 13926 }, cause = "soft", memo = {} }
  for key, value in pairs(more) do
    if key ~= "checkpoints" and key ~= "options" and not talk.SAID[key] then
      job[key] = value
    end
  end
  local taken, said = 0, 0
  job.entries, said = talk.columns(words)
  for key, column in pairs(talk.SAID) do
    for place, value in pairs(more[key] or {}) do
      job.entries[column][place] = value
    end
  end
  job.checkpoints = {}
  for at, one in ipairs(more.checkpoints or {}) do
    job.checkpoints[at] = { id = "c" .. at, level = one[1], age = one[2], tokens = one[3] }
    taken = taken + one[3]
  end
  local total = talk.SYSTEM + taken + said
  job.tokens = { total = total, system = talk.SYSTEM, checkpoints = taken, conversation = said }
  job.budgets = t.hook("budgets", { model = job.model, tokens = job.tokens }, more.options)
  job.target, job.max_tokens = job.budgets.target, job.budgets.hard
  return job
end

--- What a summary stands for: what messages say, each with `human`, `model` or `tool` before it.
---@param texts string[] `model: We decided to go on.`
---@return table
function talk.covered(texts)
  local covered = { count = #texts, role = {}, speaker = {}, text = {} }
  for at, text in ipairs(texts) do
    local speaker, said = text:match("^(%a+): (.*)$")
    covered.role[at] = speaker == "human" and "user" or speaker == "tool" and "tool" or "assistant"
    covered.speaker[at], covered.text[at] = speaker, said
  end
  return covered
end

return talk
