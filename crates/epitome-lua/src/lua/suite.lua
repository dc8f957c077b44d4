-- What a test of a policy is given as `t`. `hook` asks the policy; the rest is Lua.
local hook = ...
local error, ipairs, next, pairs, tostring, type = error, ipairs, next, pairs, tostring, type
local concat, sort = table.concat, table.sort

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in next, a do
    if not same(value, b[key]) then
      return false
    end
  end
  for key in next, b do
    if a[key] == nil then
      return false
    end
  end
  return true
end

local function show(value)
  if type(value) == "string" then
    return '"' .. value .. '"'
  elseif type(value) ~= "table" then
    return tostring(value)
  end
  local pieces, names = {}, {}
  for at, item in ipairs(value) do
    pieces[at] = show(item)
  end
  for name in next, value do
    if pieces[name] == nil then
      names[#names + 1] = name
    end
  end
  sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for _, name in ipairs(names) do
    pieces[#pieces + 1] = tostring(name) .. " = " .. show(value[name])
  end
  return "{ " .. concat(pieces, ", ") .. " }"
end

local function fail(message, what)
  error(message and tostring(message) .. ": " .. what or what, 3)
end

return {
  hook = hook,

  eq = function(found, expected, message)
    if not same(found, expected) then
      fail(message, "expected " .. show(expected) .. ", found " .. show(found))
    end
  end,

  ok = function(held, message)
    if not held then
      fail(message, "expected it to hold")
    end
  end,
}
