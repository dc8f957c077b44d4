-- Bounds the work of library functions that do not look at the watchdog's flag while they run.
-- Run once in every new virtual machine, before the libraries are locked.
local most = ...
local error, type = error, type
local rawsort = table.sort

local function guarded(name)
  local inner = string[name]
  string[name] = function(text, pattern, ...)
    if type(text) == "string" and type(pattern) == "string" and #text * #pattern > most then
      error("string." .. name .. ": a pattern of " .. #pattern .. " bytes over a text of " .. #text
        .. " bytes is too much work; take a shorter text, or ep.re." .. "find", 2)
    end
    return inner(text, pattern, ...)
  end
end

guarded("find")
guarded("match")
guarded("gmatch")
guarded("gsub")

local function less(a, b)
  return a < b
end

table.sort = function(list, before)
  return rawsort(list, before or less)
end
