-- A metatable for tables whose names are known: asking for another one is a mistake, unless a name
-- that is known was called so before.
local names, say, renamed, warn = ...
local error, rawget = error, rawget

return {
  __index = function(table, key)
    if names[key] then
      return nil
    end
    local new = renamed and renamed[key]
    if not new then
      error(say(key), 2)
    end
    warn(key)
    return rawget(table, new)
  end,
  __metatable = false,
}
