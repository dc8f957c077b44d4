--- The third stage: how a model is asked for a summary (SPEC 4.4).
---
--- What it is told stands in `prompts`: the text of the level, the focus of the mode, and the
--- headings where the class wants sections. Without a model the built-in summariser writes.
local ageing = require("ageing")
local classes = require("classes")

local summarisation = {}

--- The mode where none was asked for, or one that has no text, and the one whose words are the
--- team's.
local USUAL, OWN = "assistant", "user"

--- What the summaries of these orders may take and at which level, as `{ most, level }`.
---@param orders (Order|Ageing)[]
---@param before integer[][]|nil what was noted of others
---@return integer[][]
function summarisation.levels(orders, before)
  local notes = {}
  for _, note in ipairs(before or {}) do
    notes[#notes + 1] = note
  end
  for _, order in ipairs(orders) do
    if order.target then
      notes[#notes + 1] = { order.target, order.level or order.to or ageing.MERGED }
    end
  end
  return notes
end

--- The level of the summary that may take so much: of those that were ordered, the one that is
--- hardly larger, since a label takes part of it; else the one that its size belongs to.
---@param job PromptJob
---@return integer
local function level(job)
  local nearest = nil
  for _, note in ipairs(job.memo.levels or {}) do
    if note[1] >= job.max_tokens and (not nearest or note[1] < nearest[1]) then
      nearest = note
    end
  end
  return nearest and nearest[2] or ageing.level_for(job.max_tokens)
end

--- What the summary dwells on.
---@param job PromptJob
---@return string
local function focus(job)
  local mode = job.mode or USUAL
  if mode == OWN and job.opt.focus ~= "" then
    return job.opt.focus
  end
  local is_known, text = pcall(ep.prompt, "mode-" .. mode)
  return is_known and text or ep.prompt("mode-" .. USUAL)
end

--- What the conversation works towards, in words; `nil` without a goal.
---@param goals Goals
---@return string|nil
local function purpose(goals)
  for _, goal in ipairs(goals.goals) do
    if goal.status == "active" then
      local lines = { ep.prompt("goal"), goal.text .. " (priority: " .. goal.priority .. ")" }
      for _, milestone in ipairs(goal.milestones) do
        lines[#lines + 1] = "- " .. milestone.text .. ": " .. milestone.state:gsub("_", " ")
      end
      return table.concat(lines, "\n")
    end
  end
  return nil
end

--- How the model is asked.
---@param job PromptJob
---@return Prompt
function summarisation.prompt(job)
  local at = level(job)
  local texts, sections = { ep.prompt("level-" .. at), focus(job) }, nil
  texts[#texts + 1] = purpose(job.goals)
  if classes.of(job).strategy == "structured" and at ~= ageing.MERGED then
    local headings = ep.prompt("sections")
    texts[#texts + 1] = headings
    sections = ep.re.all("(?m)^## .+$", headings)
  end
  for place, text in ipairs(texts) do
    texts[place] = text:gsub("%s+$", "")
  end
  return {
    style = "separate",
    system = table.concat(texts, "\n\n"),
    user = (ep.prompt("request"):gsub("{max_tokens}", tostring(job.max_tokens))),
    max_tokens = job.max_tokens,
    sections = sections,
  }
end

return summarisation
