--- Hits of a web search: title, URL and snippet of each (RULES 43). HTML is dropped.
local json = require("digests.json")
local words = require("digests.words")

local pages = {}

--- The most of a title and of a snippet that is shown, in bytes.
local MOST_TITLE, MOST_SNIPPET = 120, 240

--- How deep the list of hits may stand in JSON.
local DEEPEST = 3

local URL = { "url", "link", "href" }
local TITLE = { "title", "name", "heading" }
local SNIPPET = { "snippet", "description", "summary", "abstract", "content", "text", "body" }

local ENTITIES = {
  amp = "&", lt = "<", gt = ">", quot = '"', apos = "'", nbsp = " ", ["#39"] = "'",
  ["#x27"] = "'", hellip = "…", ndash = "–", mdash = "—",
}

--- What introduces a part of a hit.
local LABELS = {
  title = true, url = true, link = true, source = true, snippet = true, description = true,
  summary = true,
}

local ANCHOR = "(?is)<a\\s[^>]*?href\\s*=\\s*[\"'](https?://[^\"']+)[\"'][^>]*>(.*?)</a>"
local HIDDEN = "(?is)<(script|style|head|nav|noscript)\\b.*?</(script|style|head|nav|noscript)>"

---@class Hit
---@field title string
---@field url string
---@field snippet string

--- A text without tags, in one line.
---@param text string
---@return string
local function bare(text)
  if text:find("<", 1, true) then
    text = ep.re.gsub(HIDDEN, text, " ")
    text = ep.re.gsub("(?s)</?[a-zA-Z!][^>]*>", text, " ")
  end
  return words.squeezed((text:gsub("&(#?%w+);", ENTITIES)))
end

---@param hits Hit[]
local function add(hits, title, url, snippet)
  local hit = { title = bare(title), url = url, snippet = bare(snippet) }
  hits[#hits + 1] = hit.title ~= "" and hit or nil
end

--- The hits of the first list of objects with a URL.
---@param text string
---@param deep integer
---@return Hit[]
local function of_json(text, deep)
  local hits, items = {}, json.items(text)
  for _, item in ipairs(items or {}) do
    local members = json.members(item.raw)
    local url = members and json.first(members, URL)
    local title = url and json.first(members, TITLE)
    if title then
      local snippet = json.first(members, SNIPPET) or ""
      add(hits, json.plain(title), json.plain(url), json.plain(snippet))
    end
  end
  for _, member in ipairs(not items and deep < DEEPEST and json.members(text) or {}) do
    if #hits == 0 and member.raw:find("^[%[{]") then
      hits = of_json(member.raw, deep + 1)
    end
  end
  return hits
end

--- The links of a page, each with what stands behind it.
---@param text string
---@return Hit[]
local function of_html(text)
  local hits = {}
  -- Marked in one pass: a call for each link would take long.
  text = ep.re.gsub(HIDDEN, text:gsub("[\1-\3]", " "), " ")
  text = ep.re.gsub(ANCHOR, text, "\1${1}\2${2}\3")
  for url, title, snippet in text:gmatch("\1([^\2]*)\2([^\3]*)\3([^\1]*)") do
    add(hits, title, url, snippet)
  end
  return hits
end

--- A line without what introduces it: a number, a sign, a label.
---@param line string
---@return string
local function unlabelled(line)
  local text = line:gsub("^%s*[%d]+[.%):]%s+", ""):gsub("^[%s#*>-]+", "")
  text = text:gsub("^%**(%a+)%**:%**%s*", function(label)
    return LABELS[label:lower()] and "" or nil
  end)
  return (text:gsub("%**%s*$", ""))
end

--- The hits of a text: a title with its URL in one line, or in the line above it.
---@param text string
---@return Hit[]
local function of_text(text)
  local lines, marks = words.lines(text), {}
  for at, line in ipairs(lines) do
    local title, url = line:match("%[(.-)%]%((https?://[^%s)]+)%)")
    local from = at
    if not url then
      url = line:match("https?://[^%s%]>\"')]+")
      title = url and unlabelled(line:match("^(.-)https?://")):gsub("[%s|<(:-]+$", "")
      if title and not title:find("%w") then
        local before = marks[#marks] and marks[#marks].at or 0
        repeat
          from = from - 1
        until from <= before or lines[from]:find("%w")
        title = from > before and unlabelled(lines[from]) or url
      end
    end
    if url then
      marks[#marks + 1] = { from = from, at = at, title = title, url = url }
    end
  end
  local hits = {}
  for number, mark in ipairs(marks) do
    local snippet, stop = {}, marks[number + 1] and marks[number + 1].from or #lines + 1
    for at = mark.at + 1, stop - 1 do
      snippet[#snippet + 1] = unlabelled(lines[at])
    end
    add(hits, mark.title, mark.url, table.concat(snippet, " "))
  end
  return hits
end

---@param text string
---@param _ Arriving
---@param _ table
---@param most integer
---@return string|nil
function pages.of(text, _, _, most)
  local hits = of_json(text, 0)
  if #hits == 0 then
    hits = ep.re.find("(?i)<a\\s[^>]*href", text) and of_html(text) or of_text(text)
  end
  if #hits == 0 then
    return nil
  end
  local items = {}
  for at, hit in ipairs(hits) do
    local lines = { at .. ". " .. words.clipped(hit.title, MOST_TITLE), hit.url }
    lines[3] = hit.snippet ~= "" and words.clipped(hit.snippet, MOST_SNIPPET) or nil
    items[at] = table.concat(lines, "\n   ")
  end
  return words.listed(words.counted(#hits, "hit"), items, "hit", most)
end

return pages
