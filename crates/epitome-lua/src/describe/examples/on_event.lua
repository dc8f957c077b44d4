-- Counts what happens; other hooks find the figures in `job.memo`.
return {
  on_event = function(job)
    local name = job.event and job.event.event or "unknown"
    job.memo[name] = (job.memo[name] or 0) + 1
  end,
}
