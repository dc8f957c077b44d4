--- The first stage: what of a large result stays in the prompt (RULES 46).
---
--- A result that leaves on arrival gets a reference in its place; one that stayed and has grown old
--- is cut by the kernel, and says where the rest is.
local share = require("numbers").share
local templates = require("templates")
local texts = require("texts")

local offloading = {}

--- The most of a line that a reference quotes, in characters; and the most before what it tells of
--- a failure by that is looked at, in bytes.
local LINE, LONGEST = 200, 1000

--- The least that is left of a result that is cut, in tokens.
local LEAST = 100

--- Names that Epitome fills in where it finds them, wherever they stand.
local FILLED = { id = true, tokens = true, lines = true, saved = true, file = true }

--- A text that was said, as it stands in a template that Epitome fills in: what looks like one of
--- its names must not become one.
local function quoted(text)
  return (text:gsub("{(%l+)}", function(name)
    return FILLED[name] and "{ " .. name .. " }" or nil
  end))
end

--- Whether a result of so many tokens is too large to stay whole.
---@param tokens integer
---@param job Common
---@return boolean
function offloading.is_large(tokens, job)
  local opt = job.options
  return tokens > math.min(opt.offload_above, share(job.model.limit, opt.offload_share))
end

--- Whether a call brings back what left: its result is left alone.
---@param entry Arriving
---@param opt table
---@return boolean
function offloading.is_exempt(entry, opt)
  for _, word in ipairs(opt.exempt) do
    if (entry.tool or ""):find(word, 1, true) or (entry.args or ""):find(word, 1, true) then
      return true
    end
  end
  return false
end

--- The first lines of a result, as a reference shows them.
---@param entry Arriving
---@param opt table
---@return string
function offloading.preview(entry, opt)
  return (texts.begin(entry:head(opt.preview_lines), opt.preview_chars))
end

--- The first line of a text that a pattern matches, and where the next one begins. Of a line that
--- is too long only what matched and what follows.
---@param text string
---@param pattern string
---@param from integer
---@return string|nil line, integer next
local function matching(text, pattern, from)
  local first, last = ep.re.find("(?m)" .. pattern, text, from)
  if not first then
    return nil, from
  end
  local before = text:sub(math.max(from, first - LONGEST), first - 1)
  local start = before:match("^.*\n()") or 1
  if #before < LONGEST or start > 1 then
    first = first - #before + start - 1
  end
  local ends = text:find("\n", math.max(last, first), true) or #text + 1
  return text:sub(first, ends - 1), ends + 1
end

--- The lines that tell of failures and that the preview does not show, one more than a reference
--- quotes at most.
---@param entry Arriving
---@param preview string
---@param opt table
---@return string[]
function offloading.failures(entry, preview, opt)
  local lines, known, text = {}, {}, entry:text()
  for _, pattern in ipairs(opt.failures) do
    local line, from = matching(text, pattern, 1)
    while line and #lines <= opt.failure_lines do
      if not known[line] and not preview:find(line, 1, true) then
        lines[#lines + 1] = line
      end
      known[line] = true
      line, from = matching(text, pattern, from)
    end
  end
  return lines
end

--- Whether a reference says what matters: it shows some text, and every failure.
---@param entry Arriving
---@param opt table
---@return boolean
function offloading.holds_essence(entry, opt)
  local preview = offloading.preview(entry, opt)
  local is_blank = not ep.re.find("[\\p{L}\\p{N}]", preview)
  return not is_blank and #offloading.failures(entry, preview, opt) <= opt.failure_lines
end

--- What stands in the place of a result.
---@param job ToolResultJob
---@return string
function offloading.reference(job)
  local entry, opt = job.entry, job.options
  local preview = offloading.preview(entry, opt)
  local failures = offloading.failures(entry, preview, opt)
  for at, line in ipairs(failures) do
    failures[at] = texts.clipped(line, LINE)
  end
  failures[opt.failure_lines + 1] = nil
  local lines = quoted(table.concat(failures, "\n"))
  return templates.fill(job.file and "offloaded-file" or "offloaded-id", {
    tool = entry.tool or "tool",
    file = job.file,
    id = job.original,
    preview = quoted(preview),
    failures = #failures > 0 and templates.fill("offloaded-failures", { lines = lines }) or "",
  })
end

--- Orders for large results among the first messages that are still in the prompt whole.
---@param job PlanJob
---@param last integer the last of these messages
---@return Step[]
function offloading.of(job, last)
  local entries, steps = job.entries, {}
  for place = 1, last do
    local sent = entries.sent[place]
    local is_result = entries.speaker[place] == "tool" and #entries.names[place] == 1
    if is_result and not entries.pinned[place] and offloading.is_large(sent, job) then
      local head = entries:head(place, job.options.preview_lines) or ""
      local target = math.max(ep.count((texts.begin(head, job.options.preview_chars))), LEAST)
      local op = { op = "replace", entry = place, how = "offload", target = target }
      steps[#steps + 1] = { place = place, op = op, saved = sent - target }
    end
  end
  return steps
end

return offloading
