--- Calls: the arguments of calls, read from what a message says of them.
local calls = {}

--- The arguments of a message's call, as JSON text; nil where they cannot be made out.
---@param text string what the message says: each call as `tool(arguments)`, on lines of its own
---@param names string[] the tools that it calls, in order
---@param call integer
---@return string|nil
function calls.arguments(text, names, call)
  local from = 1
  for at = 1, call do
    local opened = (names[at] or "") .. "("
    if from > 1 or text:sub(1, #opened) ~= opened then
      local _, ends = text:find("\n" .. opened, from, true)
      if not ends then
        return nil
      end
      from = ends + 1
    else
      from = #opened + 1
    end
  end
  local next_call = names[call + 1] and text:find("\n" .. names[call + 1] .. "(", from, true)
  local found = text:sub(from, next_call and next_call - 1 or -1):gsub("%)$", "")
  return found
end

--- What a call is known by: the same tool with the same arguments.
---@param tool string
---@param arguments string
---@return string
function calls.key(tool, arguments)
  return ep.hash(tool .. "(" .. arguments .. ")")
end

return calls
