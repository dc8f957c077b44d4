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
  local at = job.level or ageing.DETAILED
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
