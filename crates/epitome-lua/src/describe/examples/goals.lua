-- Takes every line that begins with `Goal:` for a goal.
return {
  goals = function(job)
    local goals = {}
    for _, text in ipairs(ep.re.all("(?m)^Goal: (.+)$", job.text)) do
      goals[#goals + 1] = { kind = "goal", text = text }
    end
    return goals
  end,
}
