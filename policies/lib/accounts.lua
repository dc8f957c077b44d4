--- Accounts: a line that says what was answered where the answer left the prompt (RULES 21). Used by
--- all who keep what a person wrote without what was answered.
---
--- What a person wrote stays. With a line of the assistant behind it roles go on to alternate, and the
--- model reads what became of it. A line is a whole sentence of the answer, word for word, or two; where
--- none can stand alone it says no more than that there was an answer, or work.
local texts = require("texts")

local accounts = {}

--- The most tokens of a line, of one that tells of a failure, and the fewest words of a sentence that says
--- something alone.
local MOST, MOST_OF_FAILURE, FEWEST = 24, 48, 4

--- What a message takes beside its text, in tokens.
local FRAME = 4

--- What stands where no sentence can. What a summary says of an answer is not known when the line is made.
local ANSWERED, WORKED = "I answered that.", "I worked on that."
local FAILURE = "I answered that; it tells of an error or a failure."

--- A sentence that says what went wrong, one that only supposes it, and one that says that it is well.
local FAILED = "(?i)\\b(errors?|fail(s|ed|ing|ure|ures)?|cannot|could not|couldn't|unable|broken|crash(es|ed)?)\\b"
local SUPPOSED = "(?i)\\b(would|might|may|could|if|whether|unless|no (longer|more|errors?|failures?)|not fail|any more)\\b"
local WELL = "(?i)\\b(fixed|pass(es|ed)?|resolved|solved|works?|succeed(s|ed)?|green)\\b"

--- One that only begins.
local OPENING = "(?i)^(sure|certainly|of course|great|okay|ok|let me|let's|i'll|i will|i'm going to|here (is|are))\\b"

--- What a line must not hold: markup that would have to be taken apart, and names that only Epitome
--- gives, which a model would copy.
local FOREIGN = "[\\[\\]{}<>|*\\\\]|\\b_|_\\b|\\be\\d+\\b|\\b[0-9a-f]{8}\\b"

--- A text with a pattern replaced. One that does not hold what every match does is not searched: a pattern
--- is tried at every byte.
---@param text string
---@param sign string
---@param pattern string
---@param by string
local function without(text, sign, pattern, by)
  return text:find(sign, 1, true) and text:gsub(pattern, by) or text
end

--- The sentences of a text, without code, tables, headings and signs of lists.
---@param text string
---@return string[]
local function sentences(text)
  text = ep.re.gsub("(?s)```.*?(```|$)", text, "\n")
  text = without(text, "</", "<(%a[%w_]*)[^>]*>.-</%1>", "\n")
  text = ep.re.gsub("(?m)^[ \t]*(\\|.*|#+ .*)$", text, "")
  text = ep.re.gsub("(?m)^[ \t]*([-*>]|\\d+[.)])[ \t]+", text, "")
  text = without(text, "**", "%*%*(.-)%*%*", "%1")
  text = without(text, "`", "`([^`\n]*)`", "%1")
  text = without(text, "[", "%[%d+%]", "")
  text = ep.re.gsub("([.!?])[ \t]+", text, "$1\n")
  local all = {}
  for line in text:gmatch("[^\n]+") do
    line = texts.trimmed(line)
    if line ~= "" then
      all[#all + 1] = line
    end
  end
  return all
end

--- Whether a sentence may stand in a prompt as it is.
---@param text string
---@param most integer tokens
local function is_fit(text, most)
  return ep.count(text) <= most and not ep.re.find(FOREIGN, text)
end

--- How many words a text has.
---@param text string
---@return integer
local function words(text)
  local _, count = text:gsub("%S+", "")
  return count
end

--- What went wrong and was not put right, as far as the answer says; or that it was.
---@param all string[]
---@return string|nil failed, string|nil well
local function outcome(all)
  local failed, well
  for _, one in ipairs(all) do
    if ep.re.find(WELL, one) and not ep.re.find(SUPPOSED, one) then
      well, failed = one, nil
    elseif ep.re.find(FAILED, one) and not ep.re.find(SUPPOSED, one) and not ep.re.find(OPENING, one) then
      failed, well = one, nil
    end
  end
  return failed, well
end

--- What was answered first: a short sentence with the one behind it.
---@param all string[]
---@return string|nil
local function opening(all)
  for at, one in ipairs(all) do
    if not ep.re.find(OPENING, one) then
      return words(one) < FEWEST and all[at + 1] and one .. " " .. all[at + 1] or one
    end
  end
  return nil
end

--- What a message answered, in a line.
---@param text string|nil
---@return string
function accounts.line(text)
  local all = sentences(text or "")
  if #all == 0 then
    return WORKED
  end
  local failed, well = outcome(all)
  if failed then
    return is_fit(failed, MOST_OF_FAILURE) and failed or FAILURE
  end
  local is_told = well and ep.re.find(FAILED, table.concat(all, " ")) ~= nil
  local said = is_told and well or opening(all)
  return said and is_fit(said, MOST) and said or ANSWERED
end

--- Whether a person says something in a message.
---@param entries Columns
---@param place integer
local function is_asked(entries, place)
  return entries.role[place] == "user" and entries.speaker[place] == "human"
end

--- The exchanges of these messages that stand in the prompt now, by their numbers.
---@param entries Columns
---@param ... integer[]
---@return table<integer, boolean>
function accounts.leaving(entries, ...)
  local leaves = {}
  for _, places in ipairs({ ... }) do
    for _, place in ipairs(places) do
      local number = entries.exchange[place]
      leaves[number] = leaves[number] or entries.sent[place] > 0
    end
  end
  return leaves
end

--- A line for each message of a person that stays and whose whole answer leaves.
---@param job PlanJob
---@param leaves table<integer, boolean> the exchanges that leave now, by their numbers
---@return Insert[] lines, integer tokens
function accounts.of(job, leaves)
  local entries, lines, tokens = job.entries, {}, 0
  local asked, answer, worked = nil, nil, false
  local function close()
    if asked and worked then
      local line = accounts.line(answer and entries:text(answer))
      lines[#lines + 1] = { op = "insert", after = asked, role = "assistant", text = line }
      tokens = tokens + ep.count(line) + FRAME
    end
  end
  for place = 1, entries.count do
    local is_left = leaves[entries.exchange[place]]
    if is_asked(entries, place) then
      close()
      -- What leaves takes its answer with it.
      asked, answer, worked = entries.sent[place] > 0 and not is_left and place or nil, nil, false
    elseif entries.sent[place] > 0 and not is_left then
      -- Some of the answer stays.
      asked = nil
    elseif entries.role[place] == "assistant" and is_left then
      answer = not entries.tools[place] and place or answer
      worked = true
    end
  end
  return lines, tokens
end

return accounts
