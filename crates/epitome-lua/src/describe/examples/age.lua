-- Every checkpoint that is older than four compressions is written anew in half its size.
return {
  age = function(job)
    local steps = {}
    for _, checkpoint in ipairs(job.checkpoints) do
      if checkpoint.age > 4 and checkpoint.level > 1 then
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
