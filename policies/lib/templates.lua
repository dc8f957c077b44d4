--- Templates: texts of a policy's `prompts` with names in braces. Used by the shipped policies.
local templates = {}

--- The text of `prompts/NAME.md` with these values in the place of their names in braces. Names
--- without a value stay: Epitome fills them in.
---@param name string
---@param values table<string, string|number>
---@return string
function templates.fill(name, values)
  return (ep.prompt(name):gsub("%s+$", ""):gsub("{([%l_]+)}", values))
end

return templates
