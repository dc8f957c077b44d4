-- Drops tool exchanges before anything else: as many of the oldest as bring the prompt down to
-- the target.
return {
  plan = function(job)
    local entries, found, over = job.entries, {}, job.tokens.total - job.target
    for place = 1, entries.count do
      if over <= 0 then
        break
      end
      -- What left before takes nothing any more.
      local sent = entries.sent[place]
      if sent > 0 and entries.tools[place] and not entries.pinned[place] then
        found[#found + 1] = place
        over = over - sent
      end
    end
    if #found == 0 then
      return nil
    end
    return { ops = { { op = "drop", entries = found } }, reason = "old tool results" }
  end,
}
