--- Stop hooks: places where a conversation is stopped for a look (RULES 53). Used by `tiered`,
--- which declares five, and by the policies of teams that declare more.
---
--- A stop hook is looked at within a hook of its policy, with the job of that hook and the answer
--- so far. Where its `when` holds, its level says what follows:
---
--- | level | where all checks hold | where one does not |
--- | --- | --- | --- |
--- | `SOFT` | `act` | it warns, and goes on with `fallback` |
--- | `GATE` | `act` | `fallback` |
--- | `HARD` | `act` at once: nothing is checked, and no stop hook behind it is looked at | |
---
--- Without `act` or `fallback` the answer stays as it is.
local stopping = {}

--- Something that a stop hook looks at.
---@class Check
---@field says string what it holds to, for the warning
---@field holds fun(job: table, answer: table): boolean

--- A stop hook.
---@class StopHook
---@field id string by which people know it: `CTX-001`
---@field level "SOFT"|"GATE"|"HARD"
---@field at "tool_result"|"observe"|"plan" the hook within which it is looked at
---@field when fun(job: table, answer: table): boolean
---@field checks Check[]|nil
---@field act (fun(job: table, answer: table): table)|nil the answer from here on
---@field fallback (fun(job: table, answer: table, failed: string): table)|nil
---@field warn (fun(job: table, failed: string): string)|false|nil what the host is told where one
--- of the checks fails: that check, where a `SOFT` one says nothing else; `false` for nothing

--- What the host is told of a stop hook.
---@class Said
---@field level "soft"|"gate"|"hard"
---@field text string

--- The first check of a stop hook that does not hold.
---@param stop StopHook
---@return string|nil
local function failing(stop, job, answer)
  for _, check in ipairs(stop.level ~= "HARD" and stop.checks or {}) do
    if not check.holds(job, answer) then
      return check.says
    end
  end
  return nil
end

--- What a stop hook that holds makes of an answer.
---@param stop StopHook
---@param said Said[]
local function through(stop, job, answer, said)
  local failed = failing(stop, job, answer)
  if failed and (stop.warn or stop.level == "SOFT" and stop.warn == nil) then
    local text = stop.warn and stop.warn(job, failed) or failed
    said[#said + 1] = { level = stop.level:lower(), text = stop.id .. ": " .. text }
  end
  local step = stop.act
  if failed then
    step = stop.fallback
  end
  return step and step(job, answer, failed) or answer
end

--- The hook within which a stop hook is looked at, by the name that its author gives it: policies of
--- api 1 say `arrive`.
local PLACES = { tool_result = "tool_result", arrive = "tool_result", observe = "observe", plan = "plan" }

--- Goes through the stop hooks of one place, those that act at once first: the answer that they
--- come to, and what the host is told.
---@param stops StopHook[]
---@param at string
---@param job table
---@param answer table what is answered so far
---@return table answer, Said[] said
function stopping.through(stops, at, job, answer)
  local said, place = {}, PLACES[at]
  for _, stop in ipairs(stops) do
    if PLACES[stop.at] == place and stop.level == "HARD" and stop.when(job, answer) then
      return through(stop, job, answer, said), said
    end
  end
  for _, stop in ipairs(stops) do
    if PLACES[stop.at] == place and stop.level ~= "HARD" and stop.when(job, answer) then
      answer = through(stop, job, answer, said)
    end
  end
  return answer, said
end

--- Whether one of the stop hooks is looked at in a place.
local function any(stops, at)
  for _, stop in ipairs(stops) do
    assert(PLACES[stop.at], "`at` of a stop hook: expected `tool_result`, `observe` or `plan`")
    if PLACES[stop.at] == at then
      return true
    end
  end
  return false
end

--- The answer to `plan` with what the host is told.
---@param orders Orders
---@param said Said[]
---@return Orders
function stopping.in_plan(orders, said)
  for _, one in ipairs(said) do
    orders.ops[#orders.ops + 1] = { op = "warn", text = one.text }
  end
  return orders
end

--- The answer to `observe` with what the host is told; what was kept on arrival is said here.
---@param job ObserveJob
---@param seen Observe
---@param said Said[]
---@return Observe|nil
function stopping.in_observe(job, seen, said)
  local texts = stopping.kept(job)
  texts[#texts + 1] = seen.warn
  for _, one in ipairs(said) do
    texts[#texts + 1] = one.text
    seen.level = seen.level or one.level
  end
  seen.warn = texts[1] and table.concat(texts, "\n") or nil
  return next(seen) ~= nil and seen or nil
end

--- Keeps what is to be said of a result until its message is observed: an answer to `tool_result` tells
--- the host nothing.
---@param job ToolResultJob
---@param said Said[]
function stopping.keep(job, said)
  local kept = job.memo.to_say or {}
  for _, one in ipairs(said) do
    kept[#kept + 1] = one.text
  end
  job.memo.to_say = kept[1] and kept or nil
end

--- Takes what was kept.
---@param job ObserveJob
---@return string[]
function stopping.kept(job)
  local kept = job.memo.to_say or {}
  job.memo.to_say = nil
  return kept
end

--- What is made of a plan that no policy behind has an opinion on.
---@return Orders
local function own_way()
  return { ops = { { op = "fit" } } }
end

--- Gives a policy stop hooks of its own, beside what the policies behind it do: it gets the hooks
--- that they need, unless it has them already.
---@param policy Policy
---@param stops StopHook[]
---@return Policy
function stopping.add(policy, stops)
  local arrives = any(stops, "tool_result")
  if arrives then
    policy.tool_result = policy.tool_result or policy.arrive or function(job)
      local answer, said = stopping.through(stops, "tool_result", job, ep.next(job) or { how = "keep" })
      stopping.keep(job, said)
      return answer
    end
  end
  if any(stops, "plan") then
    policy.plan = policy.plan or function(job)
      local orders, said = stopping.through(stops, "plan", job, ep.next(job) or own_way())
      return stopping.in_plan(orders, said)
    end
  end
  if arrives or any(stops, "observe") then
    policy.observe = policy.observe or function(job)
      local seen, said = stopping.through(stops, "observe", job, ep.next(job) or {})
      return stopping.in_observe(job, seen, said)
    end
  end
  return policy
end

return stopping
