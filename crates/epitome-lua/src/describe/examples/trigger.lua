-- Compresses early while the provider's cache is cold: nothing is lost then.
return {
  options = {
    early = { type = "number", default = 0.5, min = 0, max = 1, doc = "Share of the limit." },
  },
  trigger = function(job)
    if not job.cache.warm and job.tokens.total > job.model.limit * job.options.early then
      return { level = "soft", reason = "the cache is cold" }
    end
    return ep.next(job)
  end,
}
