--- Marks: where a task ends (RULES 35, 39).
---
--- A mark is a call of one of some tools that has its result; or it is set where the user asks for
--- it, where a new task begins, or at a length. The last one counts, and it is looked for only
--- behind the watermark, so that this moves forward and never back.
local marks = {}

--- The tool that marks only where the option says so.
local ACTIVATE = "activate_augments"

--- Whether a tool's name is another one, or that behind the prefix of an MCP server.
---@param name string
---@param tool string
---@return boolean
local function is_called(name, tool)
  local behind = "__" .. tool
  local prefixed = name:sub(1, 5) == "mcp__" and name:sub(-#behind) == behind
  return name == tool or prefixed and #name > #"mcp__" + #behind
end

--- Whether a call of a tool is a mark.
---@param name string
---@param opt table
---@return boolean
function marks.is_tool(name, opt)
  for _, tool in ipairs(opt.tools) do
    if is_called(name, tool) then
      return true
    end
  end
  return opt.mark_on_activate and is_called(name, ACTIVATE)
end

--- The first of these tools that marks.
---@param names string[]
---@param opt table
---@return string|nil
function marks.among(names, opt)
  for _, name in ipairs(names) do
    if marks.is_tool(name, opt) then
      return name
    end
  end
  return nil
end

--- How often a message names a tool.
local function count(names, tool)
  local found = 0
  for _, name in ipairs(names) do
    found = found + (name == tool and 1 or 0)
  end
  return found
end

--- Whether the call of a tool in a place has its result: in a later message of its exchange, or in
--- the same one where the provider ran it.
---@param entries Columns
---@param place integer
---@param tool string
local function is_answered(entries, place, tool)
  if count(entries.names[place], tool) > 1 then
    return true
  end
  for later = place + 1, entries.count do
    if entries.exchange[later] ~= entries.exchange[place] then
      return false
    elseif entries.role[later] ~= "assistant" and count(entries.names[later], tool) > 0 then
      return true
    end
  end
  return false
end

--- The last call behind a place that is a mark and has its result.
---@param entries Columns
---@param behind integer
---@param opt table
---@return integer|nil place, string|nil tool
function marks.called(entries, behind, opt)
  for place = entries.count, behind + 1, -1 do
    if entries.role[place] == "assistant" then
      for _, tool in ipairs(entries.names[place]) do
        if marks.is_tool(tool, opt) and is_answered(entries, place, tool) then
          return place, tool
        end
      end
    end
  end
  return nil, nil
end

--- The last message of a person behind a place whose text has this hash.
---@param entries Columns
---@param behind integer
---@param hash string
---@return integer|nil
function marks.said(entries, behind, hash)
  for place = entries.count, behind + 1, -1 do
    if entries.speaker[place] == "human" and ep.hash(entries:text(place) or "") == hash then
      return place
    end
  end
  return nil
end

--- The message that holds the watermark from now on, and the tool that it calls for it; nothing
--- where no mark stands behind the one there is.
---@param job PlanJob
---@param noted table what `trigger` and `observe` noted
---@return integer|nil place, string|nil tool
function marks.latest(job, noted)
  local entries, behind = job.entries, job.watermark or 0
  local place, tool = marks.called(entries, behind, job.options)
  local set = noted.boundary and marks.said(entries, behind, noted.boundary)
  if noted.due == "here" then
    set = entries.count > behind and entries.count or nil
  end
  if set and set > (place or 0) then
    return set, nil
  end
  return place, tool
end

return marks
