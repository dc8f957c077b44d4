--- Pruning: what leaves before a mark (RULES 36, 39).
local exchanges = require("exchanges")

local pruning = {}

--- Which exchanges stay as they are where calls and results leave: those that have none, too.
---@param all Exchange[]
---@param kept table<integer, boolean>
---@return table<integer, boolean>
local function without_tools(all, kept)
  local stay = {}
  for at, one in ipairs(all) do
    stay[at] = not one.tools or kept[at] or one.pinned or one.covered
  end
  return stay
end

--- Which stay where the talk leaves, too. The message that opens it does, since a conversation
--- begins with the user. So does a reply that leads to something that stays: with some providers
--- it is the reasoning that a call must not be parted from.
---@param all Exchange[]
---@param kept table<integer, boolean>
---@param leads boolean whether what stands behind them is the model's
---@return table<integer, boolean>
local function without_talk(all, kept, leads)
  local stay = {}
  for at = #all, 1, -1 do
    local one = all[at]
    stay[at] = at == 1 or kept[at] or one.pinned or one.covered or one.reply and leads
    leads = stay[at] and (one.tools or one.reply)
  end
  return stay
end

--- What leaves before a mark, and how many tokens that saves at the least.
---@param entries Columns
---@param mark integer
---@param opt table
---@param from integer the first place that may leave
---@return Order|nil order, integer saved
function pruning.of(entries, mark, opt, from)
  local all = exchanges.before(entries, mark)
  local kept, stay = exchanges.kept(all, entries, opt), nil
  if opt.slice then
    stay = without_talk(all, kept, entries.speaker[mark] ~= "human")
  else
    stay = without_tools(all, kept)
  end
  local leaving, saved = {}, 0
  for at, one in ipairs(all) do
    if not stay[at] and one.sent > 0 and one.places[1] >= from then
      leaving[#leaving + 1] = one
      saved = saved + one.sent - (opt.slice and 0 or one.lean)
    end
  end
  if #leaving == 0 then
    return nil, 0
  end
  local op = opt.slice and "drop" or "clear_tools"
  return { op = op, entries = exchanges.places(leaving) }, saved
end

return pruning
