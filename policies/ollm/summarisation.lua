--- Summarisation: how a model is asked for a checkpoint (RULES 22, 25).
---
--- The policies behind word the question. What this level keeps is said behind it, and in a window
--- of a class that is structured the sections, the decisions apart; both stand in `prompts`.
local classes = require("classes")
local sizes = require("sizes")

local summarisation = {}

--- The text of a prompt, without the end of its last line.
local function text_of(name)
  return (ep.prompt(name):gsub("%s+$", ""))
end

--- How the model is asked, where the policies behind have it asked.
---@param job SummaryPromptJob
---@param behind SummaryPrompt|nil what they say
---@return SummaryPrompt|nil
function summarisation.prompt(job, behind)
  if not behind or behind.style == "none" then
    return behind
  end
  local level = job.level or sizes.DETAILED
  local texts = { behind.user, text_of("level-" .. level) }
  if classes.of(job).strategy == "structured" and level ~= sizes.MERGED then
    local headings = text_of("sections")
    texts[#texts + 1] = headings
    behind.sections = ep.re.all("(?m)^## .+$", headings)
  end
  behind.user = table.concat(texts, "\n")
  return behind
end

return summarisation
