-- `ep.next`: what the policies behind answer. `slot` holds what the running hook was given.
local slot = ...
local error = error

return function(job)
  if not slot.ask then
    error("ep.next is for hooks: it asks the policies behind this one", 2)
  end
  if job ~= nil and job ~= slot.job then
    error("ep.next takes the job that the hook was given; change the answer instead", 2)
  end
  return slot.ask()
end
