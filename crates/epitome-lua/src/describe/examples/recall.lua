-- Brings back the newest of what answers well before anything else.
return {
  recall = function(job)
    local newest = {}
    for place, passage in ipairs(job.passages) do
      if passage.score >= 0.5 then
        newest[#newest + 1] = place
      end
    end
    table.sort(newest, function(one, other)
      return job.passages[one].age < job.passages[other].age
    end)
    return { order = newest }
  end,
}
