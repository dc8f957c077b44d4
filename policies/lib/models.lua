--- How large a model is, read from its name (SPEC 4.5). Used by `ollm` and `staged`.
local models = {}

--- What a model has, in billions of parameters, whose name does not say.
local UNKNOWN = 7

--- The parameters of a model in billions. Experts count together: `mixtral:8x7b` has 56. A number
--- that belongs to the family's name is none: `llama3.2:3b` has 3.
---@param name string|nil
---@return number
function models.billions(name)
  local text = (name or ""):lower()
  local experts, each = text:match("%f[%w.](%d+)x(%d+%.?%d*)b%f[%W]")
  if experts then
    return tonumber(experts) * tonumber(each)
  end
  local billions = text:match("%f[%w.](%d+%.?%d*)b%f[%W]")
  if billions then
    return tonumber(billions)
  end
  local millions = text:match("%f[%w.](%d+%.?%d*)m%f[%W]")
  return millions and tonumber(millions) / 1000 or UNKNOWN
end

return models
