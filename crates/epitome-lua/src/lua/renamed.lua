-- A metatable for answers that a policy reads and changes by the names that they had before.
local renamed, warn = ...
local rawget, rawset = rawget, rawset

return {
  __index = function(answer, key)
    local new = renamed[key]
    if new then
      warn(key)
      return rawget(answer, new)
    end
  end,
  __newindex = function(answer, key, value)
    local new = renamed[key]
    if new then
      warn(key)
    end
    rawset(answer, new or key, value)
  end,
}
