-- Adds what a summary forgot, and refuses one that forgot most.
return {
  verify = function(job)
    local missing = {}
    for _, fact in ipairs(job.must_keep) do
      if not fact.found then
        missing[#missing + 1] = fact.text
      end
    end
    if #missing == 0 then
      return true
    elseif #missing * 2 > #job.must_keep then
      return { reject = #missing .. " facts are missing" }
    end
    return { append = "Also: " .. table.concat(missing, "; ") }
  end,
}
