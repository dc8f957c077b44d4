--- Lines and pieces of text, as the digests put them together.
local thousands = require("numbers").thousands

local words = {}

--- The lines of a text.
---@param text string
---@return string[]
function words.lines(text)
  local lines = {}
  for line in (text:gsub("\r\n", "\n"):gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

--- A text in one line.
---@param text string
---@return string
function words.squeezed(text)
  return (text:gsub("%s+", " "):match("^ ?(.-) ?$"))
end

--- The beginning of a text, of at most so many bytes; no character is cut in two.
---@param text string
---@param most integer
---@return string
function words.clipped(text, most)
  if #text <= most then
    return text
  end
  return (text:sub(1, most):gsub("[\192-\255][\128-\191]*$", "")) .. "…"
end

--- A number of things: `1 row`, `1,000 rows`.
---@param count integer
---@param one string
---@return string
function words.counted(count, one)
  return thousands(count) .. " " .. one .. (count == 1 and "" or "s")
end

--- A heading with as many of these items below it as there is room for, and how many there are
--- more.
---@param heading string
---@param items string[]
---@param one string what an item is called
---@param most integer
---@return string
function words.listed(heading, items, one, most)
  local whole = heading .. "\n" .. table.concat(items, "\n")
  if ep.count(whole) <= most then
    return whole
  end
  local lines, more = { heading }, "… %s more"
  local room = most - ep.count(heading) - ep.count(more:format(words.counted(#items, one)))
  for at, item in ipairs(items) do
    room = room - ep.count("\n" .. item)
    if room < 0 then
      lines[#lines + 1] = more:format(words.counted(#items - at + 1, one))
      break
    end
    lines[#lines + 1] = item
  end
  return table.concat(lines, "\n")
end

return words
