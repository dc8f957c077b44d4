--- Accounts: a line that says what was answered where the answer left the prompt (RULES 21). Used by
--- `ollm` and `staged`.
---
--- What a person wrote stays. With a line of the assistant behind it roles go on to alternate, and the
--- model reads what became of it. Models copy what they see themselves say, so no line holds a bracket.
local accounts = {}

--- The most tokens of a line, and the fewest words of a sentence that says something.
local MOST, FEWEST = 24, 4

--- What a message takes beside its text, in tokens.
local FRAME = 4

--- A sentence that says what went wrong, and one that only begins.
local FAILURE = "(?i)\\b(errors?|fail(s|ed|ure)?|cannot|could not|couldn't|did not|didn't|unable)\\b"
local OPENING = "(?i)^(sure|certainly|of course|great|okay|ok|let me|let's|i'll|i will|i'm going to|here (is|are))\\b"

--- The sentences of a text, a line each: without code, signs of lists, brackets and markup.
---@param text string
---@return string
local function sentences(text)
  text = ep.re.gsub("(?s)```.*?(```|$)", text, "\n")
  text = ep.re.gsub("(?m)^[ \t]*(#+|[-*>]|\\d+[.)])[ \t]+", text, "")
  text = ep.re.gsub("\\[[^\\]\n]*\\]|[\\[\\]{}<>]|[*`]+|\\b_+|_+\\b", text, "")
  return (ep.re.gsub("([.!?])[ \t]+", text, "$1\n"))
end

--- The sentence that stands for a text: one that says what failed, else the first that says something.
---@param text string
---@return string|nil
local function sentence(text)
  local first, said
  for line in sentences(text):gmatch("[^\n]+") do
    line = line:gsub("^%s+", ""):gsub("%s+$", "")
    local _, words = line:gsub("%S+", "")
    if words >= FEWEST then
      if ep.re.find(FAILURE, line) then
        return line
      end
      first = first or line
      said = said or not ep.re.find(OPENING, line) and line or nil
    end
  end
  return said or first
end

--- What a message answered, in a line; `nil` where it says nothing.
---@param text string|nil
---@return string|nil
function accounts.line(text)
  local said = text and sentence(text)
  if not said then
    return nil
  end
  local line = ep.clip(said, MOST)
  return line == said and line or ep.clip(said, MOST - 1):gsub("[%s,;:]+$", "") .. "…"
end

--- Whether a message is a person's and stays.
---@param entries Columns
---@param place integer
---@param leaves table<integer, boolean> by number of exchange
local function is_asked(entries, place, leaves)
  return entries.role[place] == "user"
    and entries.speaker[place] == "human"
    and entries.sent[place] > 0
    and not leaves[entries.exchange[place]]
end

--- A line for each message of a person that stays and whose whole answer leaves.
---@param job PlanJob
---@param leaving Exchange[]
---@return Insert[] lines, integer tokens
function accounts.of(job, leaving)
  local entries, leaves, lines, tokens = job.entries, {}, {}, 0
  for _, one in ipairs(leaving) do
    leaves[one.number] = true
  end
  local asked, answer = nil, nil
  local function close()
    local line = asked and answer and accounts.line(entries:text(answer))
    if line then
      lines[#lines + 1] = { op = "insert", after = asked, role = "assistant", text = line }
      tokens = tokens + ep.count(line) + FRAME
    end
  end
  for place = 1, entries.count do
    if is_asked(entries, place, leaves) then
      close()
      asked, answer = place, nil
    elseif entries.sent[place] > 0 and not leaves[entries.exchange[place]] then
      -- Some of the answer stays.
      asked = nil
    elseif entries.role[place] == "assistant" and leaves[entries.exchange[place]] then
      answer = not entries.tools[place] and place or answer
    end
  end
  return lines, tokens
end

return accounts
