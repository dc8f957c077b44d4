--- Boundaries: whether what a person says begins a new task (RULES 39).
local boundary = {}

--- The most of a text that is shown to a model, in tokens.
local MOST_SHOWN = 400

--- Puts texts in the place of their names in braces.
local function filled(template, texts)
  return (template:gsub("{(%l+)}", texts))
end

--- The question to a model.
---@param before string what the person said before
---@param text string
---@return Ask
local function question(before, text)
  local shown = { before = ep.clip(before, MOST_SHOWN), now = ep.clip(text, MOST_SHOWN) }
  return { id = "boundary", user = filled(ep.prompt("boundary"), shown), max_tokens = 4 }
end

--- Whether a new task begins; or a question that must be answered first.
---@param job ObserveJob
---@return boolean begins, Ask|nil ask
function boundary.of(job)
  local opt, text = job.options, job.entry:text()
  for _, pattern in ipairs(opt.boundaries) do
    if ep.re.find(pattern, text) then
      return true, nil
    end
  end
  if not opt.ask_boundary or not job.typed then
    return false, nil
  end
  local reply = job.replies.boundary
  if not reply then
    return false, question(job.typed, text)
  end
  return reply:lower():match("^%W*yes") ~= nil, nil
end

return boundary
