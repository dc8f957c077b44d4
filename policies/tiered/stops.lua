--- The five stop hooks (RULES 53). A team adds its own in a policy that extends this one; the
--- README shows how.
local drift = require("drift")
local intents = require("intent")
local levels = require("levels")
local offloading = require("offloading")
local stages = require("stages")
local truncation = require("truncation")

--- Whether a result fits beside the rest without the window being nearly full.
---@param job ToolResultJob
local function has_room(job)
  return not levels.over(job.tokens.total, job, "handover_at")
end

---@type StopHook[]
return {
  {
    id = "CTX-001",
    level = "SOFT",
    at = "tool_result",
    when = function(job)
      local entry = job.entry
      return entry.tool ~= nil and offloading.is_large(entry.tokens, job)
        and not offloading.is_exempt(entry, job.options)
    end,
    checks = {
      {
        says = "the preview holds the essence",
        holds = function(job)
          return not has_room(job) or offloading.holds_essence(job.entry, job.options)
        end,
      },
    },
    act = function(job)
      return { how = "offload", text = offloading.reference(job) }
    end,
    fallback = function()
      return { how = "keep" }
    end,
    warn = function(job)
      return string.format(
        "the result of %s (%d tokens) stays whole: a preview would not hold its essence",
        job.entry.tool,
        job.entry.tokens
      )
    end,
  },
  {
    id = "CTX-002",
    level = "GATE",
    at = "plan",
    when = function(job, work)
      return stages.over(job, work, "truncate_at")
    end,
    checks = {
      {
        says = "there are old inputs",
        holds = function(job, work)
          return #truncation.large(job, work.last) > 0
        end,
      },
      {
        says = "some of them are on disk as written",
        holds = function(job, work)
          return #truncation.of(job, work.last) > 0
        end,
      },
    },
    act = stages.truncate,
    fallback = function(_, work)
      work.spent = true
      return work
    end,
  },
  {
    id = "CTX-003",
    level = "GATE",
    at = "plan",
    when = function(job, work)
      return stages.over(job, work, "summarize_at")
    end,
    checks = {
      {
        says = "the first two stages are spent",
        holds = function(_, work)
          return work.spent
        end,
      },
      {
        says = "the intent is captured",
        holds = function(job)
          return intents.of(job) ~= ""
        end,
      },
      {
        says = "the artifacts are listed",
        holds = function(job)
          for _, inputs in ipairs(job.entries.inputs) do
            for _, input in ipairs(inputs) do
              if input.path == "" then
                return false
              end
            end
          end
          return true
        end,
      },
    },
    act = stages.summarize,
    fallback = stages.checkpoint,
  },
  {
    id = "CTX-004",
    level = "SOFT",
    at = "observe",
    when = function(job, seen)
      return seen.drift ~= nil or drift.is_watched(job)
    end,
    checks = {
      {
        says = "what the agent does is what the session is for",
        holds = function(_, seen)
          return seen.drift == nil
        end,
      },
    },
    fallback = function(job, seen)
      seen.recall = drift.query(job)
      seen.max_tokens, seen.level = job.options.drift_excerpts, "soft"
      return seen
    end,
    warn = false,
  },
  {
    id = "CTX-005",
    level = "HARD",
    at = "plan",
    when = function(job, work)
      return levels.over(work.size, job, "handover_at")
    end,
    act = stages.checkpoint,
  },
}
