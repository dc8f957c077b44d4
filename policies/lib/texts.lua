--- Texts: parts of them that stay valid, whatever they are written in. Used by `tiered`, and by
--- `accounts` and `decisions`.
local texts = {}

--- The beginning of a text, and whether that is all of it.
---@param text string
---@param most integer characters
---@return string beginning, boolean whole
function texts.begin(text, most)
  if #text <= most then
    return text, true
  end
  local ends = utf8.offset(text, most + 1)
  if not ends or ends > #text then
    return text, true
  end
  return text:sub(1, ends - 1), false
end

--- The same with a sign that something is missing.
---@param text string
---@param most integer characters
---@return string
function texts.clipped(text, most)
  local beginning, whole = texts.begin(text, most)
  return whole and beginning or beginning .. "…"
end

--- A text without the spaces at both ends. It looks at those alone, and not for spaces everywhere.
---@param text string
---@return string
function texts.trimmed(text)
  local last = #text
  while last > 0 and text:find("^%s", last) do
    last = last - 1
  end
  return (text:sub(1, last):gsub("^%s+", ""))
end

return texts
