-- A metatable for tables whose names are known: asking for another one is a mistake.
local names, say = ...
local error = error

return {
  __index = function(_, key)
    if not names[key] then
      error(say(key), 2)
    end
  end,
  __metatable = false,
}
