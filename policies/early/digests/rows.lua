--- The result of a database query: how many rows, and some of them (RULES 43).
local json = require("digests.json")
local words = require("digests.words")

local rows = {}

--- What stands above the rows of a digest.
rows.SAMPLE = "some of them, by their number:"

--- The most of one row that is shown, in bytes.
local MOST_ROW = 300

--- Where the rows are in an object.
local KEYS = { "rows", "data", "results", "result", "records", "items", "values" }

--- What is above the rows of a result, the rows, and what is below.
---@class Found
---@field above string[]
---@field rows string[]
---@field below string[]

--- The rows of a text that is JSON: an array, that of an object, or an object a line.
---@param text string
---@return Found|nil
local function of_json(text)
  local members = json.members(text)
  local items = json.items(members and json.first(members, KEYS) or text)
  if not items then
    return nil
  end
  local found = { above = {}, rows = {}, below = {} }
  for at, item in ipairs(items) do
    found.rows[at] = item.raw
  end
  for _, member in ipairs(members or {}) do
    if member.raw:find("^[%w\"-]") or member.key == "columns" then
      found.above[#found.above + 1] = member.key .. ": " .. words.squeezed(member.raw)
    end
  end
  return found
end

--- Whether a line is drawn: what stands between heading and rows.
---@param line string
local function is_rule(line)
  return line:find("^[%s|+:=-]+$") ~= nil or line:find("^%s*[├└┌╞╪┼═─]") ~= nil
end

--- How often a sign stands in a line.
local function often(line, sign)
  local _, count = line:gsub(sign, "")
  return count
end

--- The sign that parts the columns of most lines, where there is one.
---@param lines string[]
---@return string|nil
local function separator(lines)
  for _, sign in ipairs({ "\t", "|", "│", ",", ";" }) do
    local first, same = nil, 0
    for _, line in ipairs(lines) do
      local count = often(line, sign)
      first = first or count > 0 and count or nil
      same = same + (count > 0 and count == first and 1 or 0)
    end
    if same * 10 >= #lines * 8 then
      return sign
    end
  end
  return nil
end

--- The rows of a table that is drawn, or of values that a sign parts. The first line names the
--- columns; what has no columns stands above the rows or below.
---@param text string
---@return Found|nil
local function of_lines(text)
  local lines = words.lines(text)
  local sign = separator(lines)
  if not sign then
    return nil
  end
  local found, header = { above = {}, rows = {}, below = {} }, false
  for _, line in ipairs(lines) do
    local is_row = line:find(sign, 1, true)
    if line:find("^%s*$") or is_rule(line) then
      -- It says nothing.
    elseif is_row and not header then
      header = true
      found.above[#found.above + 1] = line
    elseif is_row then
      found.rows[#found.rows + 1] = line
    else
      local side = #found.rows == 0 and found.above or found.below
      side[#side + 1] = line
    end
  end
  return found
end

--- A row without the room between its columns.
---@param row string
---@return string
local function narrow(row)
  return words.clipped(row:gsub("[ \r\n]+", " "):match("^ ?(.-) ?$"), MOST_ROW)
end

--- As many rows as are asked for, the first, the last, and others evenly between them.
---@param all string[]
---@param count integer
---@return string[]
local function sample(all, count)
  local shown = {}
  for number = 1, math.min(count, #all) do
    local share = count > 1 and (number - 1) / (count - 1) or 0
    local at = 1 + math.floor(share * (#all - 1) + 0.5)
    shown[number] = at .. ": " .. narrow(all[at])
  end
  return shown
end

--- A table in fewer words: how many rows it has, what stands around them, and as many of them as
--- there is room for.
---@param text string
---@param _ Arriving
---@param opt table
---@param most integer
---@return string|nil
function rows.of(text, _, opt, most)
  local found = of_json(text) or of_lines(text)
  if not found or #found.rows <= opt.query_rows then
    return nil
  end
  local around = {}
  for _, side in ipairs({ found.above, found.below }) do
    for _, line in ipairs(side) do
      around[#around + 1] = narrow(line)
    end
  end
  around[#around + 1] = words.counted(#found.rows, "row") .. "; " .. rows.SAMPLE
  local heading, count, digest = table.concat(around, "\n"), opt.sample_rows, nil
  repeat
    digest = heading .. "\n" .. table.concat(sample(found.rows, count), "\n")
    count = count - 1
  until ep.count(digest) <= most or count == 0
  return digest
end

return rows
