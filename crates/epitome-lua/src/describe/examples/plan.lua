-- Drops tool exchanges before anything else: as many of the oldest as bring the prompt down to
-- the target, each of them whole.
return {
  plan = function(job)
    local entries, found, over = job.entries, {}, job.tokens.total - job.target
    local exchange
    for place = 1, entries.count do
      if over <= 0 and entries.exchange[place] ~= exchange then
        break
      end
      -- What left before takes nothing any more.
      local sent = entries.sent[place]
      if sent > 0 and entries.tools[place] and not entries.pinned[place] then
        found[#found + 1] = place
        over = over - sent
        exchange = entries.exchange[place]
      end
    end
    if #found == 0 then
      return nil
    end
    return { ops = { { op = "drop", entries = found } }, reason = "old tool results" }
  end,
}
