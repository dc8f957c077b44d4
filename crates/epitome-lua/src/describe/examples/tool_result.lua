-- Shortens what `ls` prints; everything else is left to the policies behind.
return {
  tool_result = function(job)
    if job.entry.tool == "ls" and job.entry.lines > 40 then
      return { how = "digest", text = job.entry:head(40) }
    end
    return nil
  end,
}
