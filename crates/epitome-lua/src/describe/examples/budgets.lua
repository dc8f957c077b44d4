-- Leaves a fifth of the limit to the answer, and compresses from two thirds on.
return {
  budgets = function(job)
    local limit = job.model.limit
    return { soft = math.floor(limit * 0.66), hard = math.floor(limit * 0.8) }
  end,
}
