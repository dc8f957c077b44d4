-- Keeps the last SQL statement on each table, whoever ran it.
return {
  facts = function(job)
    local last = {}
    for place = 1, job.covered.count do
      local text = job.covered:text(place) or ""
      for _, statement in ipairs(ep.re.all("(?im)^(?:alter|create|drop) table .+;$", text)) do
        last[statement:match("[tT][aA][bB][lL][eE] (%S+)") or statement] = statement
      end
    end
    local lines = {}
    for _, statement in pairs(last) do
      lines[#lines + 1] = statement
    end
    table.sort(lines)
    return lines
  end,
}
