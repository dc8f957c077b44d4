--- JSON as it was written: values are pieces of the text, in its order, so that no number or text
--- comes out other than it went in.
local json = {}

--- A member of an object, or an item of an array, whose `key` is its place.
---@class Member
---@field key string|integer
---@field raw string

---@param text string
---@return string
local function trimmed(text)
  return text:match("^%s*(.-)%s*$")
end

--- The place behind the text that begins at a quote.
---@param text string
---@param from integer
---@return integer|nil
local function behind_quotes(text, from)
  local at = from + 1
  while true do
    at = text:find('["\\]', at)
    if not at then
      return nil
    elseif text:byte(at) == 34 then
      return at + 1
    end
    at = at + 2
  end
end

--- The pieces between the commas of an array or object that is all of a text; `nil` where it is
--- none.
---@param text string
---@param opens string
---@param closes string
---@return string[]|nil
local function pieces(text, opens, closes)
  if text:sub(1, 1) ~= opens or text:sub(-1) ~= closes then
    return nil
  end
  local found, from, at, depth = {}, 2, 2, 0
  while true do
    at = text:find('["{}%[%],]', at)
    if not at then
      return nil
    end
    local sign = text:sub(at, at)
    if sign == '"' then
      at = behind_quotes(text, at)
      if not at then
        return nil
      end
    else
      if (sign == "," or sign == closes) and depth == 0 then
        local piece = trimmed(text:sub(from, at - 1))
        found[#found + 1] = piece ~= "" and piece or nil
        from = at + 1
      end
      if sign == "{" or sign == "[" then
        depth = depth + 1
      elseif sign ~= "," and depth == 0 then
        return at == #text and found or nil
      elseif sign ~= "," then
        depth = depth - 1
      end
      at = at + 1
    end
  end
end

--- The items of a text that is an array.
---@param text string
---@return Member[]|nil
function json.items(text)
  local items = pieces(trimmed(text), "[", "]")
  for at, raw in ipairs(items or {}) do
    items[at] = { key = at, raw = raw }
  end
  return items
end

--- The members of a text that is an object, in its order.
---@param text string
---@return Member[]|nil
function json.members(text)
  local members = pieces(trimmed(text), "{", "}")
  for at, piece in ipairs(members or {}) do
    local key, raw = piece:match('^"([^"]*)"%s*:%s*(.*)$')
    if not key then
      return nil
    end
    members[at] = { key = key, raw = raw }
  end
  return members
end

--- Whether a text is an object or an array.
---@param text string
function json.is_json(text)
  return json.items(text) ~= nil or json.members(text) ~= nil
end

--- What a value says: a text without its quotes, anything else as it is written.
---@param raw string
---@return string
function json.plain(raw)
  local text = raw:sub(1, 1) == '"' and ep.json.decode(raw)
  return text or raw
end

--- The value of the first of these keys that is there.
---@param members Member[]
---@param keys string[]
---@return string|nil raw
function json.first(members, keys)
  for _, key in ipairs(keys) do
    for _, member in ipairs(members) do
      if type(member.key) == "string" and member.key:lower() == key and member.raw ~= "null" then
        return member.raw
      end
    end
  end
  return nil
end

return json
