-- What tests of a policy are given as `t`, a new one each. `ask` asks the policy, `play` plays a
-- conversation under it; the rest is Lua.
local ask, play = ...
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

-- A policy that asks for more than so many replies to one job is never content.
local MOST = 8

-- The question in an answer; `nil` where it is none.
local function question(answer)
  return type(answer) == "table" and type(answer.ask) == "table" and answer.ask or nil
end

-- A job with one reply more; what the test made stays as it is.
local function with_reply(job, id, text)
  local new, replies = {}, {}
  for name, value in next, job or {} do
    new[name] = value
  end
  for name, value in next, new.replies or {} do
    replies[name] = value
  end
  replies[id] = text
  new.replies = replies
  return new
end

-- The functions for one test.
local function given()
  local said = {}
  return {
    hook = function(name, job, options, behind)
      local answer = ask(name, job, options, behind)
      local asked, times = question(answer), 0
      while asked and said[asked.id] ~= nil do
        times = times + 1
        if times > MOST then
          error("`" .. name .. "` asked more than " .. MOST .. " times, last for `" .. asked.id .. "`", 2)
        end
        local text = said[asked.id]
        if type(text) == "function" then
          text = text(asked)
        end
        job = with_reply(job, asked.id, text)
        answer = ask(name, job, options, behind)
        asked = question(answer)
      end
      return answer
    end,

    reply = function(id, text)
      if type(id) ~= "string" or type(text) ~= "string" and type(text) ~= "function" then
        error("t.reply takes the id of a question and a text, or a function that gives one", 2)
      end
      said[id] = text
    end,

    replay = function(recording, settings)
      return play(recording, settings, said)
    end,

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
end

return given
