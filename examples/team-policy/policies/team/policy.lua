--- @api 1
-- As ollm, but a tool result of more than 2,000 tokens never stays whole.
local policy = { extends = "ollm" }

function policy.arrive(job)
  if job.entry.tokens > 2000 then return { how = "offload", most = 300 } end
  return ep.next(job)
end

return policy
