-- Another wording for what stands where a tool result was.
return {
  render = function(job)
    if job.part == "placeholder" and job.in_store then
      return { text = "[{call}: {tokens} tokens, recall {id}]" }
    end
    return nil
  end,
}
