--- The intent: what a session is for, which is never lost (RULES 48, 54).
---
--- It is what a person said last that says more than to go on. That message, the one that opened
--- the conversation, and what else people said stay as they are while there is room for them. A
--- summary has fields of it: the objective as it was stated first, as it was revised, and the current
--- request.
local share = require("numbers").share

local intent = {}

--- The most words of a text that only says to go on, whatever they are; and the most bytes of one
--- all of whose words are such as people say it with.
local GO_ON, ENCOURAGED = 3, 80

--- What people tell others with to go on.
local ENCOURAGING = {}
for word in ([[
  ok okay yes yep yeah sure fine good great nice perfect cool right alright well thanks thank you
  please and the then now so go on ahead proceed continue next step one part more keep going do it
  that is looks carry move forward all with let's
  ja gut prima danke bitte weiter mach mal und nun jetzt dann der die das nächste nächster nächstes
  nächsten schritt so
  oui bien merci et la le suite suivant suivante continue continuez maintenant
  sí si bien bueno gracias y el siguiente sigue continúa adelante ahora paso
]]):gmatch("%S+") do
  ENCOURAGING[word] = true
end

--- Whether a text of a person says more than to go on: "good, and the next one?" does not.
---@param text string
---@return boolean
function intent.is_stated(text)
  local _, count = text:gsub("%S+", "")
  if count <= GO_ON and #text <= 60 then
    return false
  end
  if #text > ENCOURAGED then
    return true
  end
  for _, word in ipairs(ep.re.all("[\\p{L}\\p{N}'’]+", text:lower())) do
    if not ENCOURAGING[(word:gsub("’", "'"))] then
      return true
    end
  end
  return ep.re.find("[\\p{L}\\p{N}]", text) == nil
end

--- Where it is said: the message that opens the conversation, and the newest that says something.
---@param entries Columns
---@return integer|nil first, integer|nil newest
function intent.places(entries)
  local first, newest = nil, nil
  for place = 1, entries.count do
    if entries.role[place] == "user" and entries.speaker[place] == "human" then
      first = first or place
      if intent.is_stated(entries:text(place) or "") then
        newest = place
      end
    end
  end
  return first, newest or first
end

--- The newest message behind the first that revises what was asked for, if any does.
---@param job PlanJob
---@param first integer|nil
---@return integer|nil
local function revised(job, first)
  for place = job.entries.count, (first or job.entries.count) + 1, -1 do
    if job.entries.role[place] == "user" and job.entries.speaker[place] == "human" then
      local text = job.entries:text(place) or ""
      for _, pattern in ipairs(job.options.revised_by) do
        if intent.is_stated(text) and ep.re.find(pattern, text) then
          return place
        end
      end
    end
  end
  return nil
end

--- A text on one line that is no longer than a field may be.
local function field(text, most)
  return (ep.clip((text or ""):gsub("%s+", " "), most):gsub("^ ", ""):gsub(" $", ""))
end

--- What the session was for at first, what it was revised to, and what is asked for now, in the
--- person's words.
---@class Stated
---@field first string
---@field revised string|nil
---@field request string

--- The objective and the request, as people said them.
---@param job PlanJob
---@return Stated
function intent.stated(job)
  local first, newest = intent.places(job.entries)
  local change = revised(job, first)
  local function said(place)
    return place and field(job.entries:text(place), job.options.field_tokens) or ""
  end
  return { first = said(first), revised = change and said(change), request = said(newest) }
end

--- The same where there is an active goal: that is the objective, in all its wordings.
---@param stated Stated
---@param goals Goals
---@param most integer tokens of a field
---@return Stated
function intent.by_goal(stated, goals, most)
  for _, goal in ipairs(goals.goals) do
    if goal.status == "active" then
      local first, now = field(goal.objective or goal.text, most), field(goal.text, most)
      return { first = first, revised = now ~= first and now or nil, request = stated.request }
    end
  end
  return stated
end

--- The fields of a summary, each on a line, in their order. What is the same is said once, under the
--- first name that it has.
---@param stated Stated
---@return string[]
function intent.fields(stated)
  local lines, said = {}, {}
  local function add(name, text)
    if text and text ~= "" and not said[text] then
      said[text] = true
      lines[#lines + 1] = name .. text
    end
  end
  local names = ep.prompt("fields")
  local function name(of)
    return ep.re.match("(?m)^" .. of .. ": (.+)$", names) .. ": "
  end
  add(name("first"), stated.first)
  add(name("revised"), stated.revised)
  add(name("request"), stated.request)
  return lines
end

--- What it is, in the person's words; empty where nobody said any.
---@param job PlanJob
---@return string
function intent.of(job)
  local _, newest = intent.places(job.entries)
  return newest and job.entries:text(newest) or ""
end

--- The messages that stay for it, as far as there is room: the newest that says something, the one
--- that opens the conversation, and what else people said, the newest first.
---@param job PlanJob
---@return table<integer, boolean>
function intent.kept(job)
  local entries, kept = job.entries, {}
  local room = share(job.model.limit, job.options.intent_share)
  local function keep(place)
    local tokens = entries.sent[place]
    if tokens > 0 and not kept[place] and not entries.tools[place] and tokens <= room then
      kept[place], room = true, room - tokens
    end
  end
  local first, newest = intent.places(entries)
  if newest then
    keep(newest)
    keep(first)
  end
  for place = entries.count, 1, -1 do
    if entries.role[place] == "user" and entries.speaker[place] == "human" then
      keep(place)
    end
  end
  return kept
end

return intent
