-- A line with how full the window is.
return {
  status = function(job)
    local percent = math.floor(job.used * 100)
    local advice = percent > 90 and "Compress now, or start anew." or nil
    return { text = percent .. " % used", advice = advice }
  end,
}
