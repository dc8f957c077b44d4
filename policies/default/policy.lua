--- @api 2
--- What Epitome decides when nobody chooses. The link that is built in decides the same; this is
--- it in Lua, to read and to start from.
---
--- `job.options` are the options of the profile (`options.toml` beside this file). Sizes are tokens.
local share = require("numbers").share

---@type Policy
local policy = { doc = "The built-in decisions.", options = "default" }

---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local limit, opt = job.model.limit, job.options
  local reserve = math.min(opt.limit.reserve, share(limit, opt.limit.reserve_share))
  return {
    warn = share(limit, opt.trigger.warn),
    ahead = share(limit, opt.trigger.prefetch),
    soft = share(limit, opt.trigger.soft),
    hard = limit - reserve,
    target = share(limit, opt.trigger.target),
    reserve = reserve,
  }
end

--- Whether a call names one of these words: it brings back what left, so it is left alone.
local function is_exempt(entry, words)
  for _, word in ipairs(words) do
    if entry.tool:find(word, 1, true) or (entry.args or ""):find(word, 1, true) then
      return true
    end
  end
  return false
end

---@param job ToolResultJob
---@return ToolResultAnswer
function policy.tool_result(job)
  local entry, limit, opt = job.entry, job.model.limit, job.options.tool_results
  -- A share of the limit, too: what is large for one window is little for another.
  local too_large = math.min(opt.offload_above, share(limit, opt.offload_share))
  if not entry.tool or is_exempt(entry, opt.exempt) then
    return { how = "keep" }
  elseif entry.tokens > too_large then
    return { how = "offload", max_tokens = math.min(opt.preview, share(limit, opt.preview_share)) }
  elseif entry.tokens >= opt.digest_from then
    return { how = "digest", max_tokens = share(entry.tokens, opt.digest_share) }
  end
  return { how = "keep" }
end

--- Whether a compression brought too little, and the prompt has hardly grown since.
local function is_resting(job)
  local grown = 1 + job.options.compress.minimum_gain
  return job.stalled_at ~= nil and job.tokens.total < job.stalled_at * grown
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  local size, bounds, cache = job.tokens.total, job.budgets, job.cache
  if size > bounds.hard then
    return { level = "hard", reason = "the window forces it" }
  elseif job.requested_by then
    return { level = "asked", reason = "asked for by " .. job.requested_by }
  elseif size < bounds.soft or is_resting(job) then
    return false
  end
  -- A rewrite costs the provider's cache. Below the hard bound it waits until leaving the prompt
  -- as it is has cost as much: then it was never more than twice as dear as the best choice.
  if cache.forgone_cost >= cache.rewrite_cost then
    return { level = "soft", reason = "it pays" }
  end
  return false
end

--- The kernel's own way, down to the target: the newest messages stay, as many as the options under
--- `compress` say, and one checkpoint stands for what is older.
---@param job PlanJob
---@return Orders
function policy.plan(job)
  return { ops = { { op = "fit" } } }
end

--- How a model is asked for a summary, where there is one. It is told to leave room for what it
--- forgets.
---@param job SummaryPromptJob
---@return SummaryPrompt
function policy.summary_prompt(job)
  local opt = job.options.summaries
  local most = tostring(share(job.max_tokens, opt.share))
  local user = opt.prompt:gsub("{max_tokens}", most)
  local beside = opt.extract_heading ~= "" and opt.extract_heading or nil
  return { style = opt.style, user = user, max_tokens = job.max_tokens, beside = beside }
end

--- What a summary forgot is added as data, as far as there is room, first what the extractor would
--- have kept. One that keeps fewer facts even so than that would is not taken.
---@param job VerifyJob
---@return boolean|Rejected|Seconded
function policy.verify(job)
  local opening, held, extracted = job.options.summaries.missing_facts_heading, 0, 0
  local room, missing = job.max_tokens - job.tokens - #opening - 2, { [true] = {}, [false] = {} }
  for _, fact in ipairs(job.must_keep) do
    held = held + (fact.found and 1 or 0)
    extracted = extracted + (fact.extracted and 1 or 0)
    if not fact.found then
      table.insert(missing[fact.extracted], fact)
    end
  end
  local lines = { opening }
  for _, list in ipairs({ missing[true], missing[false] }) do
    for _, fact in ipairs(list) do
      if fact.tokens <= room then
        lines[#lines + 1], room = "- " .. fact.text, room - fact.tokens
      end
    end
  end
  held = held + #lines - 1
  if held < extracted then
    local reject = "it keeps %d of %d facts, and without a model it would be %d"
    return { reject = reject:format(held, #job.must_keep, extracted) }
  end
  return #lines == 1 or { append = table.concat(lines, "\n") }
end

--- The system prompt of a conversation that is given message by message: the host's own, then what
--- the goal is, how the model says what changes of it, and what was loaded.
---@param job RenderJob
---@return Render|nil
function policy.render(job)
  local makings, opt = job.system, job.options.goals
  if job.part ~= "system" or not makings or not opt.teach then
    return nil
  end
  local goal, loaded = { makings.goal ~= "" and makings.goal or nil }, {}
  goal[#goal + 1] = opt.markers:match("^%s*(.-)%s*$")
  for at, augment in ipairs(makings.augments) do
    loaded[at] = "## " .. augment.title .. "\n\n" .. augment.text
  end
  return {
    parts = {
      { name = "instructions", text = makings.instructions or "" },
      { name = "goal", text = table.concat(goal, "\n\n") },
      { name = "augments", text = table.concat(loaded, "\n\n") },
    },
  }
end

--- As they stand: the search put them in this order.
---@param job RecallJob
---@return RecallOrder
function policy.recall(job)
  local order = {}
  for place in ipairs(job.passages) do
    order[place] = place
  end
  return { order = order }
end

return policy
