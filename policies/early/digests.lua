--- Digests on arrival: which tool results get one, by what they are (RULES 43).
---
--- A digest is made of words of the result alone, takes no more than it may, and is smaller than
--- what it stands for; otherwise the result stays as it is.
local api = require("digests.api")
local json = require("digests.json")
local pages = require("digests.pages")
local rows = require("digests.rows")
local share = require("numbers").share
local sources = require("digests.sources")

local digests = {}

--- The longest text that is looked at, in bytes.
local MOST_TEXT = 256 * 1024

--- The option that names the tools of each kind, and what digests their results.
local KINDS = {
  { "search_tools", pages.of },
  { "file_tools", sources.of },
  { "query_tools", rows.of },
  { "api_tools", api.of },
}

---@param text string
---@param patterns string[]
local function is_matched(text, patterns)
  for _, pattern in ipairs(patterns) do
    if ep.re.find(pattern, text) then
      return true
    end
  end
  return false
end

--- Whether a call brings back what left.
---@param entry Arriving
---@param words string[]
local function is_exempt(entry, words)
  for _, word in ipairs(words) do
    if entry.tool:find(word, 1, true) or (entry.args or ""):find(word, 1, true) then
      return true
    end
  end
  return false
end

--- Whether most lines of a text are keys with values, or items of a list.
---@param text string
local function is_yaml(text)
  local all, keys = 0, 0
  for line in text:gmatch("[^\n]+") do
    all = all + 1
    local is_key = line:find("^%s*%-? ?[%w_.\"'/-]+:%s") or line:find("^%s*[%w_.\"'/-]+:$")
    keys = keys + ((is_key or line:find("^%s*%- ") or line == "---") and 1 or 0)
  end
  return all > 1 and keys * 10 >= all * 9
end

--- What takes the place of a result, where something does.
---@param job ToolResultJob
---@return string|nil
function digests.of(job)
  local entry, opt = job.entry, job.options
  if not entry.tool or entry.error or entry.tokens < opt.keep_below then
    return nil
  elseif is_exempt(entry, opt.exempt) then
    return nil
  end
  local text = entry:text()
  local is_small = entry.tokens < opt.keep_data_below
  if #text > MOST_TEXT or is_small and (json.is_json(text) or is_yaml(text)) then
    return nil
  end
  local most = math.min(opt.digest_most, share(job.model.limit, opt.digest_share))
  for _, kind in ipairs(KINDS) do
    local is_it = is_matched(entry.tool, opt[kind[1]])
    local digest = (is_it or kind[2] == sources.of and sources.shows(entry.args or ""))
      and kind[2](text, entry, opt, most)
    if digest and ep.count(digest) < entry.tokens then
      return digest
    end
  end
  return nil
end

return digests
