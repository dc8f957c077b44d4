--- The last stage: whether what was made is good enough (RULES 26, 31).
---
--- What is sent is checked by the kernel. Here a plan is checked before it is made, and a summary
--- before it is taken.
local thousands = require("numbers").thousands
local verbatim = require("verbatim")

local validation = {}

--- What opens what is added to a summary. All of it stands under a heading of the profile
--- (`missing_facts_heading`), so what was forgotten needs one of its own only behind the other.
local VERBATIM, FORGOTTEN = "Word for word:", "Also:"

--- The most that a compression may leave, so that the next one is not due at once.
---@param job PlanJob
---@return integer
local function most(job)
  return math.min(job.max_tokens, job.budgets.soft or job.max_tokens)
end

--- Whether a prompt of this size can stay.
---@param job PlanJob
---@param size integer
---@return boolean
function validation.holds(job, size)
  return size <= most(job)
end

--- By how much a prompt of this size is too large, in words.
---@param job PlanJob
---@param size integer
---@return string
function validation.overage(job, size)
  local limit = most(job)
  return string.format(
    "the stages would leave %s tokens of %s, %s too many",
    thousands(size),
    thousands(limit),
    thousands(size - limit)
  )
end

--- What is added to a summary: a text that fills up, piece by piece, while there is room.
local Added = {}
Added.__index = Added

---@param room integer tokens
local function added(room)
  return setmetatable({ room = room, lines = {} }, Added)
end

--- Adds a line, behind its heading where it is the first under it. Says whether it had room.
---@param text string
---@param heading string|nil
---@return boolean
function Added:take(text, heading)
  local is_new = heading ~= self.heading and (heading ~= FORGOTTEN or #self.lines > 0)
  local opening = is_new and heading or nil
  local size = ep.count(text) + 1 + (opening and ep.count(opening) + 1 or 0)
  if size > self.room then
    return false
  end
  self.lines[#self.lines + 1] = opening
  self.lines[#self.lines + 1] = text
  self.heading, self.room = heading, self.room - size
  return true
end

--- What of these has no place in the summary yet, and finds one.
---@param pieces Verbatim[]
---@param is_block boolean whether code is added, or lines
---@param candidate string
function Added:word_for_word(pieces, is_block, candidate)
  for _, one in ipairs(pieces) do
    if one.is_block == is_block and not candidate:find(one.text, 1, true) then
      self:take(is_block and one.text or "- " .. one.text, VERBATIM)
    end
  end
end

--- What is made of a summary: what has to stand word for word and what it forgot is added, as far
--- as there is room, code last. One that holds too little even so, and less than one without a model, is
--- not taken.
---@param job VerifyJob
---@return boolean|Rejected|Seconded
function validation.of(job)
  local pieces, held, extracted = verbatim.of(job.covered, job.mode), 0, 0
  local all = added(job.max_tokens - ep.count(job.candidate) - 1)
  all:word_for_word(pieces, false, job.candidate)
  for _, fact in ipairs(job.must_keep) do
    extracted = extracted + (fact.extracted and 1 or 0)
    local is_there = fact.found or table.concat(all.lines, "\n"):find(fact.text, 1, true)
    if is_there or all:take("- " .. fact.text, FORGOTTEN) then
      held = held + 1
    end
  end
  if held < #job.must_keep * job.options.keep_facts and held < extracted then
    local reject = "it holds %d of %d facts, and without a model it would be %d"
    return { reject = reject:format(held, #job.must_keep, extracted) }
  end
  all:word_for_word(pieces, true, job.candidate)
  return #all.lines == 0 or { append = table.concat(all.lines, "\n") }
end

return validation
