--- The third stage: the summary, and what it is made of (RULES 48).
---
--- One summary stands for everything but what stays: what is pinned, what states the intent, and
--- the newest messages. The one before goes into it, made anew from what it stood for. `job.memo`
--- holds `intent`, what the session is for; `stated`, the objective and the request; `artifacts`, the files that were written, and their
--- status; and `saved`, what the summary saves.
local intents = require("intent")
local share = require("numbers").share
local talk = require("talk")
local templates = require("templates")

local summary = {}

--- What opens what a model's summary forgot.
local FORGOTTEN = "Also: "

--- The most of the intent that a prompt quotes, in tokens.
local INTENT = 400

--- A file that was written.
---@class Written
---@field path string
---@field status string

--- The files that were written, each once, those that were written last at the end.
---@param job PlanJob
---@return Written[]
function summary.artifacts(job)
  local entries, latest, all = job.entries, {}, {}
  for place = 1, entries.count do
    for _, input in ipairs(entries.inputs[place] or {}) do
      if input.path ~= "" then
        latest[input.path] = { place = place, input = input }
      end
    end
  end
  for path, one in pairs(latest) do
    local status = one.input.ok and "written" or "not written"
    if one.input.ok and job.workspace then
      status = one.input.persisted and "on disk as written" or "changed since"
    end
    all[#all + 1] = { path = path, status = status, place = one.place }
  end
  table.sort(all, function(a, b)
    return a.place < b.place or a.place == b.place and a.path < b.path
  end)
  local list = {}
  for at = math.max(1, #all - job.options.artifacts + 1), #all do
    list[#list + 1] = { path = all[at].path, status = all[at].status }
  end
  return list
end

--- What the prompt keeps beside the summary: the newest exchanges up to a share of the room, but
--- the very newest in any case.
---@param job PlanJob
---@param all Exchange[]
---@param room integer
---@return table<integer, boolean> stays the numbers of these exchanges
---@return Exchange|nil oldest of them
local function newest(job, all, room)
  local stays, taken, oldest = {}, 0, nil
  local most = share(room, job.options.keep_recent_share)
  for at = #all, 1, -1 do
    local one = all[at]
    if at < #all and taken + one.tokens > most then
      break
    end
    stays[one.number], oldest = true, one
    if not one.pinned then
      taken = taken + one.tokens
    end
  end
  return stays, oldest
end

--- What it would stand for, and what that takes now. An exchange stays or leaves whole.
---@param job PlanJob
---@param room integer what there is for the summary and what stays, beside what is pinned
---@return integer[] covers, integer freed, boolean is_new whether some of it is not summed up yet
function summary.covers(job, room)
  local entries, all = job.entries, talk.exchanges(job.entries)
  local stays, oldest = newest(job, all, room)
  for place in pairs(intents.kept(job)) do
    stays[entries.exchange[place]] = true
  end
  -- Behind another question it would be read as the answer to that.
  local question = oldest and oldest ~= all[#all] and talk.question(entries, oldest.places[1])
  if question and not stays[entries.exchange[question]] then
    stays[oldest.number] = nil
  end
  for place = 1, entries.count do
    if entries.pinned[place] or entries.role[place] == "system" then
      stays[entries.exchange[place]] = true
    end
  end
  local covers, freed, is_new, seen = {}, 0, false, {}
  for place = 1, entries.count do
    if not stays[entries.exchange[place]] then
      local standing = entries.checkpoint[place]
      covers[#covers + 1] = place
      freed = freed + entries.sent[place]
      is_new = is_new or standing == 0 and entries.sent[place] > 0
      if standing > 0 and not seen[standing] then
        seen[standing] = true
        freed = freed + job.checkpoints[standing].tokens
      end
    end
  end
  return covers, freed, is_new
end

--- What it may take: the room that there is; where that is little, a share of what it stands for,
--- as long as the next summary is not due at once, or where it is in any case, as far as the window
--- goes.
---@param job PlanJob
---@param room integer
---@param freed integer
---@param rest integer what the prompt takes without it
---@return integer
function summary.target(job, room, freed, rest)
  local opt, limit = job.options, job.model.limit
  local below = share(limit, opt.summarize_at) - share(limit, opt.retry_after) - rest
  local most = below > opt.summary_least and below or job.max_tokens - rest
  return math.max(room, math.min(share(freed, opt.summary_share), most), opt.summary_least)
end

--- The files as a text, one on each line.
---@param list Written[]
---@return string
local function listed(list)
  local lines = {}
  for at, one in ipairs(list) do
    lines[at] = "- " .. one.path .. " (" .. one.status .. ")"
  end
  return #lines > 0 and table.concat(lines, "\n") or "- none"
end

--- What the session is for, as the goals say it, or else the person.
---@param job SummaryPromptJob
---@return string
local function stated(job)
  for _, goal in ipairs(job.goals.goals) do
    if goal.status == "active" then
      return goal.text
    end
  end
  return ep.clip(job.memo.intent or "", INTENT)
end

--- Whether a summary that may take so much is written in sections.
---@param most integer
---@param opt table
local function has_sections(most, opt)
  return most >= opt.sections_from
end

--- How a model is asked for it.
---@param job SummaryPromptJob
---@return SummaryPrompt
function summary.prompt(job)
  if job.memo.stated then
    job.memo.stated = intents.by_goal(job.memo.stated, job.goals, job.options.field_tokens)
  end
  local headings, parted = ep.prompt("sections"), has_sections(job.max_tokens, job.options)
  return {
    style = "separate",
    system = templates.fill("system", {}),
    user = templates.fill(parted and "summary" or "summary-short", {
      intent = stated(job),
      artifacts = listed(job.memo.artifacts or {}),
      sections = headings:gsub("%s+$", ""),
      max_tokens = job.max_tokens,
    }),
    max_tokens = job.max_tokens,
    sections = parted and ep.re.all("(?m)^## .+$", headings) or nil,
    rest = (ep.prompt("rest"):gsub("%s+$", "")),
  }
end

--- What stands under a heading of a text.
local function under(text, heading)
  local _, ends = text:find(heading, 1, true)
  local stops = ends and text:find("\n## ", ends + 1, true)
  return ends and text:sub(ends + 1, stops or -1) or ""
end

--- What is made of a model's summary: the fields of the intent are added in the person's words, and
--- files and facts that it forgot, as far as there is room. One that lost the intent is not taken.
---@param job VerifyJob
---@return boolean|Rejected|Seconded
function summary.verify(job)
  local most = job.max_tokens
  local heading = ep.re.match("(?m)^## .+$", ep.prompt("sections"))
  local says = has_sections(most, job.options) and under(job.candidate, heading) or job.candidate
  if not ep.re.find("[\\p{L}\\p{N}]", says) then
    return { reject = "the intent of the session is missing" }
  end
  local missing, room = {}, most - job.tokens
  local fields = {}
  for _, line in ipairs(intents.fields(job.memo.stated or { first = "", request = "" })) do
    local size = ep.count(line) + 1
    if size <= room then
      fields[#fields + 1], room = line, room - size
    end
  end
  room = room - ep.count(FORGOTTEN)
  local function add(text)
    local size = ep.count(text) + 1
    if size <= room then
      missing[#missing + 1], room = text, room - size
    end
  end
  for _, one in ipairs(job.memo.artifacts or {}) do
    if not job.candidate:find(one.path, 1, true) then
      add(one.path .. " (" .. one.status .. ")")
    end
  end
  for _, fact in ipairs(job.must_keep) do
    if not fact.found then
      add(fact.text)
    end
  end
  fields[#fields + 1] = #missing > 0 and FORGOTTEN .. table.concat(missing, "; ") or nil
  return #fields == 0 or { append = table.concat(fields, "\n") }
end

return summary
