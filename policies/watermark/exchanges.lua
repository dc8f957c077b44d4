--- Exchanges: what there is before a mark, and what of it stays (RULES 36, 39).
local exchanges = {}

--- The most of a text that patterns are tried on, in bytes.
local MOST_TEXT = 1024 * 1024

--- A run of messages that stay or leave together.
---@class Exchange
---@field places integer[]
---@field tools boolean whether it calls tools
---@field reply boolean whether it is the assistant's and calls none
---@field pinned boolean
---@field covered boolean whether a checkpoint stands for it
---@field sent integer tokens of it as it is sent
---@field lean integer the most of them that are left without its calls and results

--- Adds a message to its exchange.
local function add(one, entries, place)
  local sent = entries.sent[place]
  local is_reply = entries.role[place] == "assistant" and not entries.tools[place]
  local is_result = entries.tools[place] and entries.speaker[place] == "tool"
  one.places[#one.places + 1] = place
  one.tools = one.tools or entries.tools[place]
  one.reply = one.reply and is_reply
  one.pinned = one.pinned or entries.pinned[place]
  one.covered = one.covered or entries.checkpoint[place] > 0
  one.sent = one.sent + sent
  one.lean = one.lean + (is_result and 0 or sent)
end

--- The exchanges that end before a place, oldest first, without system prompts.
---@param entries Columns
---@param before integer
---@return Exchange[]
function exchanges.before(entries, before)
  local all, one, number = {}, nil, nil
  local last = entries.exchange[before]
  for place = 1, math.min(before - 1, entries.count) do
    if entries.exchange[place] == last then
      break
    elseif entries.role[place] ~= "system" then
      if entries.exchange[place] ~= number then
        number = entries.exchange[place]
        one = {
          places = {}, tools = false, reply = true, pinned = false, covered = false, sent = 0,
          lean = 0,
        }
        all[#all + 1] = one
      end
      add(one, entries, place)
    end
  end
  return all
end

--- The places of exchanges, in order.
---@param list Exchange[]
---@return integer[]
function exchanges.places(list)
  local places = {}
  for _, one in ipairs(list) do
    for _, place in ipairs(one.places) do
      places[#places + 1] = place
    end
  end
  return places
end

--- Whether one of the patterns matches a tool's name or what is said in an exchange.
local function is_matched(one, entries, patterns)
  for _, place in ipairs(one.places) do
    local text = (entries:text(place) or ""):sub(1, MOST_TEXT)
    for _, pattern in ipairs(patterns) do
      for _, name in ipairs(entries.names[place]) do
        if ep.re.find(pattern, name) then
          return true
        end
      end
      if ep.re.find(pattern, text) then
        return true
      end
    end
  end
  return false
end

--- Whether the model wrote a word in its messages of an exchange.
local function is_worded(one, entries, word)
  for _, place in ipairs(one.places) do
    local says = entries.role[place] == "assistant" and entries:text(place)
    if says and says:find(word, 1, true) then
      return true
    end
  end
  return false
end

--- Which of the exchanges are anchors: a pattern matches, or the model wrote the word beside the
--- call, or in the reply that leads to it. A word in a tool's result is nobody's.
---@param all Exchange[]
---@param entries Columns
---@param opt table
---@return table<integer, boolean>
local function anchors(all, entries, opt)
  local found, led = {}, false
  for at, one in ipairs(all) do
    local worded = opt.anchor_word ~= "" and is_worded(one, entries, opt.anchor_word)
    if one.tools then
      found[at] = worded or led or #opt.anchors > 0 and is_matched(one, entries, opt.anchors)
    end
    led = one.reply and (worded or led)
  end
  return found
end

--- Which of the exchanges stay whole: anchors, and the last few that call tools.
---@param all Exchange[]
---@param entries Columns
---@param opt table
---@return table<integer, boolean>
function exchanges.kept(all, entries, opt)
  local kept, newest = anchors(all, entries, opt), 0
  for at = #all, 1, -1 do
    if all[at].tools and newest < opt.keep_exchanges then
      kept[at], newest = true, newest + 1
    end
  end
  return kept
end

return exchanges
