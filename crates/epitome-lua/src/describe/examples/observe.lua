-- Keeps what the user calls a rule.
return {
  observe = function(job)
    if job.entry.speaker == "human" and ep.re.find("(?i)\\brule:", job.entry:text()) then
      return { pin = true }
    end
    return nil
  end,
}
