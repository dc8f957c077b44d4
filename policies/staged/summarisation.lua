--- The third stage: how a model is asked for a summary (RULES 29).
---
--- What it is told stands in `prompts`: the text of the level, the focus of the mode, and the
--- headings where the class wants sections. Without a model the built-in summariser writes.
local classes = require("classes")
local modes = require("modes")
local share = require("numbers").share
local sizes = require("sizes")
local verbatim = require("verbatim")

local summarisation = {}

--- The mode whose words are the team's.
local OWN = "user"

--- The most of a summary's room that is left to what has to stand word for word and is added where
--- the model leaves it out.
local LEFT = 0.25

--- How much the model is asked for.
---@param job SummaryPromptJob
---@return integer
local function room(job)
  local size = verbatim.size(verbatim.of(job.covered, job.mode))
  return job.max_tokens - math.min(size, share(job.max_tokens, LEFT))
end

--- What the summary dwells on.
---@param job SummaryPromptJob
---@return string
local function focus(job)
  if job.focus then
    return job.focus
  end
  local mode = job.mode or modes.USUAL
  if mode == OWN and job.options.focus ~= "" then
    return job.options.focus
  end
  local is_known, text = pcall(ep.prompt, "mode-" .. mode)
  return is_known and text or ep.prompt("mode-" .. modes.USUAL)
end

--- The text of a prompt, without the end of its last line.
---@param name string
---@return string
local function text_of(name)
  return (ep.prompt(name):gsub("%s+$", ""))
end

--- How the model is asked. What it heeds least is what stands farthest from its answer, so the
--- headings stand last.
---@param job SummaryPromptJob
---@return SummaryPrompt
function summarisation.prompt(job)
  local at = job.level or sizes.DETAILED
  local texts = { text_of("level-" .. at), (focus(job):gsub("%s+$", "")) }
  texts[#texts + 1] = "{goals}"
  local asked = ep.prompt("request"):gsub("{max_tokens}", tostring(room(job)))
  local sections = nil
  if classes.of(job).strategy == "structured" and at ~= sizes.MERGED then
    local headings = text_of("sections")
    asked = asked .. "\n" .. headings
    sections = ep.re.all("(?m)^## .+$", headings)
  end
  return {
    style = "separate",
    system = table.concat(texts, "\n\n"),
    user = asked,
    max_tokens = job.max_tokens,
    sections = sections,
    rest = text_of("rest"),
  }
end

return summarisation
