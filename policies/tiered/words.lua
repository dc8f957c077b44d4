--- Words: what a text is about, in any language, as far as it can be compared (RULES 51).
---
--- Words are known by their beginnings, so that `export`, `exporter` and `exports` are one. Where a
--- script sets no spaces between words, its letters count.
local texts = require("texts")

local words = {}

--- A word: a letter of a script without spaces, two letters of scripts with short words, or four.
local WORD = "\\p{Han}|[\\p{Hangul}\\p{Hiragana}\\p{Katakana}]{2,}|[\\p{L}\\p{N}]{4,}"

--- How much of a word's beginning counts, in characters.
local BEGINNING = 5

--- The longest text among the arguments of a call that is no content, in bytes; and what is read of
--- arguments that are no JSON, in tokens.
local SHORT, UNREAD = 300, 60

--- A name of a file, without its folders.
local FILE = "[\\p{L}\\p{N}_-]+(?:\\.[\\p{L}\\p{N}_-]+)*\\.[a-z][a-z0-9]{0,5}\\b"

--- The words of a text, each once, by their beginnings.
---@param text string
---@param most integer
---@return string[]
function words.of(text, most)
  local found, known, seen = {}, {}, {}
  for _, word in ipairs(ep.re.all(WORD, text:gsub("(%l)(%u)", "%1 %2"):lower(), most)) do
    -- Most words come more than once, and cutting one takes longer than knowing it again.
    if not seen[word] then
      seen[word] = true
      local beginning = texts.begin(word, BEGINNING)
      if not known[beginning] then
        known[beginning] = true
        found[#found + 1] = beginning
      end
    end
  end
  return found
end

--- The files that a text names, without their folders, each once.
---@param text string
---@return string[]
function words.files(text)
  local found, known = {}, {}
  for _, name in ipairs(ep.re.all("(?:^|[^\\p{L}\\p{N}_.@-])(" .. FILE .. ")", text, 50)) do
    if not known[name] then
      known[name] = true
      found[#found + 1] = name
    end
  end
  return found
end

--- The files that a text asks for: their names, with or without a path, stand right behind one of
--- these words.
---@param text string
---@param ordered_by string[] patterns
---@return string[]
function words.ordered_files(text, ordered_by)
  local found, known = {}, {}
  for _, pattern in ipairs(ordered_by) do
    local named = "(?:" .. pattern .. ")\\s+[`'\"]?(?:[\\p{L}\\p{N}_.@-]*/)*(" .. FILE .. ")"
    for _, name in ipairs(ep.re.all(named, text, 50)) do
      if not known[name] then
        known[name] = true
        found[#found + 1] = name
      end
    end
  end
  return found
end

--- What a call is about: the short texts among its arguments. Its tool may be about anything, and
--- what is written into a file says little of why.
---@param arguments string JSON text
---@return string
function words.of_call(arguments)
  local found = {}
  local function gather(value)
    if type(value) == "string" and #value <= SHORT then
      found[#found + 1] = value
    elseif type(value) == "table" then
      local names = {}
      for name in pairs(value) do
        names[#names + 1] = name
      end
      table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
      for _, name in ipairs(names) do
        gather(value[name])
      end
    end
  end
  local decoded = ep.json.decode(arguments)
  gather(decoded == nil and ep.clip(arguments, UNREAD) or decoded)
  return table.concat(found, " ")
end

return words
