--- @api 2
-- As ollm, but a tool result of more than 2,000 tokens never stays whole.
local policy = { extends = "ollm" }

function policy.tool_result(job)
  if job.entry.tokens > 2000 then return { how = "offload", max_tokens = 300 } end
  return ep.next(job)
end

return policy
