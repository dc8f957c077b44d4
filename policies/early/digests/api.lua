--- The response of an API: its status and its key fields (RULES 43). A response that tells of an
--- error stays as it is.
local json = require("digests.json")
local words = require("digests.words")

local api = {}

--- The most of one field that is shown, in bytes.
local MOST_FIELD = 200

--- Where a response says how it went, and where its body is, where it is wrapped.
local STATUS = { "status_code", "statuscode", "status", "code" }
local BODY = { "body", "data", "result", "response", "payload" }

--- What can be said of a value in a line: a plain one whole, a list by its length and its first
--- item, an object by the names in it.
---@param raw string
---@return string
local function outline(raw)
  local items, members = json.items(raw), json.members(raw)
  if items and #items > 0 then
    return words.counted(#items, "item") .. ", the first: " .. words.squeezed(items[1].raw)
  elseif members and #members > 0 then
    local names = {}
    for at, member in ipairs(members) do
      names[at] = member.key
    end
    return "{ " .. table.concat(names, ", ") .. " }"
  end
  return words.squeezed(json.plain(raw))
end

---@param members Member[]
---@param status string|nil the line that says it already
---@return string[]
local function fields(members, status)
  local lines = {}
  for _, member in ipairs(members) do
    local line = words.clipped(member.key .. ": " .. outline(member.raw), MOST_FIELD)
    lines[#lines + 1] = line ~= status and line or nil
  end
  return lines
end

--- Further items of the lists in a response, by their numbers, a line each, in the room that its fields
--- leave.
---@param digest string
---@param lists string[] as they stand there
---@param most integer
---@return string
local function filled(digest, lists, most)
  local lines, room = { digest }, most - ep.count(digest)
  for _, raw in ipairs(lists) do
    for at, item in ipairs(json.items(raw) or {}) do
      local line = words.clipped(at .. ": " .. words.squeezed(item.raw), MOST_FIELD)
      room = room - (at > 1 and ep.count("\n" .. line) or 0)
      if room < 0 then
        return table.concat(lines, "\n")
      end
      lines[#lines + 1] = at > 1 and line or nil
    end
  end
  return table.concat(lines, "\n")
end

--- Whether members of a response tell of an error.
---@param members Member[]
local function is_error(members)
  local error = json.first(members, { "error", "errors", "exception" })
  local ok = json.first(members, { "ok", "success" })
  local status = json.plain(json.first(members, STATUS) or "")
  local fails = error and error ~= "false" and error ~= "[]" and error ~= "{}" and error ~= '""'
  return fails or ok == "false" or status:find("^[45]%d%d%f[%D]") ~= nil
    or ep.re.find("(?i)^(error|fail(ed|ure)?)$", status) ~= nil
end

--- The status line of a response with its headers, and the body; no line where there are none.
---@param text string
---@return string|nil status, string body
local function parted(text)
  local status, rest = text:match("^(HTTP/[%d.]+ %d%d%d[^\r\n]*)\r?\n(.*)$")
  if not status then
    return nil, text
  end
  return status, rest:match("\r?\n\r?\n(.*)$") or rest:match("^\r?\n(.*)$") or rest
end

---@param text string
---@param entry Arriving
---@param _ table
---@param most integer
---@return string|nil
function api.of(text, entry, _, most)
  local status, body = parted(text)
  local members = json.members(body)
  if status and status:find("^HTTP/[%d.]+ [45]") or members and is_error(members) then
    return nil
  end
  if members and not status then
    local raw = json.first(members, STATUS)
    status = raw and raw:find("^[%w\"-]") and "status: " .. json.plain(raw)
  end
  local inner = members and json.first(members, BODY)
  local wrapped = inner and #members <= 4 and json.members(inner)
  if wrapped and is_error(wrapped) then
    return nil
  end
  local lines = members and fields(wrapped or members, status)
  if not lines then
    local items = json.items(body)
    lines = items and #items > 0 and { outline(body) }
  end
  if not lines then
    return nil
  end
  local digest = words.listed(status or "the response says no status", lines, "field", most)
  local lists = {}
  for at, member in ipairs(wrapped or members or {}) do
    lists[at] = member.raw
  end
  -- A response that is little larger than the room is not told nearly whole.
  local room = math.min(most, math.floor(entry.tokens / 2))
  return filled(digest, members and lists or { body }, room)
end

return api
