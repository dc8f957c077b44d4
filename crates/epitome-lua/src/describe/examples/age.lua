-- Beside what the policies behind it lower, every checkpoint that is older than four compressions
-- is written anew in half its size.
return {
  age = function(job)
    local steps, taken = ep.next(job) or {}, {}
    for _, step in ipairs(steps) do
      taken[step.checkpoint] = true
    end
    for _, checkpoint in ipairs(job.checkpoints) do
      if checkpoint.age > 4 and checkpoint.level > 1 and not taken[checkpoint.id] then
        steps[#steps + 1] = {
          checkpoint = checkpoint.id,
          to = checkpoint.level - 1,
          target = math.floor(checkpoint.tokens / 2),
        }
      end
    end
    return steps
  end,
}
