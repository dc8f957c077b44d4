--- Size classes: how hard a window of a certain size is compressed (RULES 25). Used by `ollm`
--- and `staged`, whose options `sizes` and `class_strategy` it reads.
local classes = {}

--- `up_to`: the largest context size of the class. `system`: the most that a system prompt of
--- Epitome's own takes. `detailed`: how many checkpoints at most stay at level 3. `patience`: how
--- much slower checkpoints age.
local CLASSES = {
  { name = "minimal", up_to = 4096, system = 200, strategy = "rollover" },
  { name = "basic", up_to = 8192, system = 500, strategy = "smart", detailed = 2 },
  { name = "standard", up_to = 16384, system = 1000, strategy = "progressive" },
  { name = "premium", up_to = 32768, system = 1500, strategy = "structured" },
  { name = "ultra", up_to = math.huge, system = 1500, strategy = "structured", patience = 2 },
}

--- The places in a model's own list of sizes, 0 to 1, up to which its sizes are of each class.
local PLACES = { 0.00, 0.25, 0.50, 0.75, 1.00 }

--- How every class is compressed where classes have no say.
local WITHOUT_CLASSES = { strategy = "progressive" }

--- The place of a size in a list, 0 for the first and 1 for the last.
local function place_of(size, sizes)
  for at, listed in ipairs(sizes) do
    if #sizes > 1 and tonumber(listed) == size then
      return (at - 1) / (#sizes - 1)
    end
  end
  return nil
end

--- The class of a context size, or of a limit where no size is known.
---@param model ModelFacts
---@param sizes any[]
---@return integer
local function class_of(model, sizes)
  local size = model.size or model.limit
  local place = place_of(size, sizes)
  for class, row in ipairs(CLASSES) do
    if place and place <= PLACES[class] or not place and size <= row.up_to then
      return class
    end
  end
  return #CLASSES
end

---@class Class
---@field class integer
---@field system integer
---@field strategy string
---@field detailed integer|nil
---@field patience number|nil

--- The class of a job, what it allows a system prompt to take, and how it is compressed.
---@param job Common
---@return Class
function classes.of(job)
  local sizes = #job.options.sizes > 0 and job.options.sizes or job.model.sizes or {}
  local class = class_of(job.model, sizes)
  local row = CLASSES[class]
  local how = job.options.class_strategy and row or WITHOUT_CLASSES
  return {
    class = class,
    system = row.system,
    strategy = how.strategy,
    detailed = how.detailed,
    patience = how.patience,
  }
end

return classes
