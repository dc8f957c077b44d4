--- Wording: what Epitome writes into the prompt (RULES 54). Each text names the way back, where
--- there is one; a summary, and a system prompt of Epitome's own, say what must never be assumed.
local templates = require("templates")

local wording = {}

--- The most of a summary's room that its label takes where a budget is set: in less it names the way back
--- alone.
local LABEL_SHARE = 0.05

--- The way back, in words; nil where there is none.
---@param job RenderJob
---@return string|nil
local function way(job)
  if job.in_files then
    return templates.fill("way-file", {})
  end
  return job.in_store and templates.fill("way-id", {}) or nil
end

--- The way back, and the archive that the whole conversation is in.
---@param job RenderJob
---@param back string|nil
---@return string|nil
local function ways(job, back)
  local archive = job.memo.archive
  return back and archive and back .. "; all of it: .epitome/" .. archive or back
end

--- What the host says, the goal and the augments, where the policies behind leave them to it.
---@param makings Makings
---@return Section[]
local function plain(makings)
  local parts = { { name = "instructions", text = makings.instructions or "" } }
  parts[2] = { name = "goal", text = makings.goal }
  for _, one in ipairs(makings.augments) do
    parts[#parts + 1] = { name = one.name, text = "## " .. one.title .. "\n\n" .. one.text }
  end
  return parts
end

--- A system prompt: that of the policies behind, and the rule.
---@param job RenderJob
---@return Section[]
local function system(job)
  local behind = ep.next(job)
  local parts = behind and behind.parts or plain(job.system)
  parts[#parts + 1] = { name = "context", text = templates.fill("instructions", {}) }
  return parts
end

---@param job RenderJob
---@return Render|nil
function wording.of(job)
  if job.part == "system" then
    return job.system and { parts = system(job) } or nil
  end
  local back = way(job)
  local text = templates.fill(back and job.part or job.part .. "-bare", {
    way = job.part == "checkpoint" and ways(job, back) or back,
    time = job.time or "",
    at = job.time and ", " .. job.time or "",
    saved = job.memo.saved or 0,
    instructions = templates.fill("instructions", {}),
  })
  local is_short = job.part == "checkpoint" and job.memo.is_set
  local short = is_short and templates.fill(back and "short" or "short-bare", { way = back }) or nil
  return { text = text, short = short, share = short and LABEL_SHARE }
end

return wording
