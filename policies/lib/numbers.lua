--- Numbers as policies work them out and people read them. Used by the shipped policies.
local numbers = {}

--- A share of a size in whole tokens, rounded down as the kernel does.
---@param whole number
---@param share number 0 to 1
---@return integer
function numbers.share(whole, share)
  return math.floor(whole * share)
end

--- A whole number with its thousands set apart: `5,234`.
---@param number number
---@return string
function numbers.thousands(number)
  local text = string.format("%d", number)
  local groups
  repeat
    text, groups = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
  until groups == 0
  return text
end

return numbers
