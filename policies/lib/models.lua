--- How large a model is, read from its name (RULES 30). Used by `ollm` and `staged`.
local models = {}

--- What a model has, in billions of parameters, where neither its name nor the model table says.
local UNKNOWN = 7

--- The parameters of a model in billions: what its name says, else what the model table lists.
--- Experts count together: `mixtral:8x7b` has 56. A number that belongs to the family's name is
--- none: `llama3.2:3b` has 3.
---@param name string|nil
---@param listed number|nil
---@return number
function models.billions(name, listed)
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
  return millions and tonumber(millions) / 1000 or listed or UNKNOWN
end

return models
