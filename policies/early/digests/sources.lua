--- A file: how long it is, how it begins, and what stands in which lines (RULES 43).
local words = require("digests.words")

local sources = {}

--- The most of one line that is shown, in bytes.
local MOST_LINE = 100

--- Into how many ranges a file is parted that has no headings, and the fewest headings it may have.
local RANGES, FEWEST = 12, 3

--- The least tokens that a range takes.
local LEAST = 6

--- Commands that show a file, and arguments that name one.
local SHOWS = "^%s*(%a+)%s+[^|;&<>]+$"
local COMMANDS = { bat = true, cat = true, less = true, more = true, nl = true }
local NAMES = { "file_path", "path", "filename", "file", "target_file", "filepath", "uri" }

--- Lines that begin something, by what stands in front: a declaration, a heading, a section.
local HEADING = "(?m)^(" .. table.concat({
  "(pub(\\([^)\n]*\\))? +)?((async|unsafe|const|extern \"C\") +)*(fn|mod|macro_rules!) *\\w",
  "(pub(\\([^)\n]*\\))? +)?(unsafe +)?(struct|enum|trait|impl|union|type)\\b",
  "((export|default|declare|abstract|async) +)*(class|function\\*?|interface|enum) +\\w",
  "(export +)?const +\\w+ *= *(async *)?(\\(|function)",
  "((local +)?function|(async +)?def|func|proc|sub|module|package|namespace|object) +\\w",
  "((public|private|protected|internal|static|final|abstract|virtual) +)+[\\w<>\\[\\], ]+[({]",
  "[A-Za-z_][\\w *&:<>,]* +[*&]?\\w[\\w:~]*\\([^;\n]*\\)? *(const)? *\\{?$",
  "(#{1,6} +\\S|\\[\\[?[\\w.\"' -]+\\]\\]?$|={3,} )",
  "(?i:(create|alter|drop) +(table|view|index|function) )",
}, "|") .. ")"

--- Stands before them while they are looked for.
local MARK = "\1"

--- The value of an argument of a call.
---@param args string
---@param names string[]
---@return string|nil
local function argument(args, names)
  local known = ep.json.decode(args:sub(1, 1) == "{" and #args < 65536 and args or "{}")
  for _, name in ipairs(names) do
    if type(known) == "table" and type(known[name]) == "string" then
      return known[name]
    end
  end
  return nil
end

--- Whether the arguments of a call are a command that shows a file.
---@param args string
function sources.shows(args)
  local command = argument(args, { "command", "cmd" })
  return command ~= nil and COMMANDS[command:match(SHOWS) or ""] == true
end

--- The lines of a file without the numbers that a tool put before them, and those numbers.
---@param text string
---@return string[] lines, integer[] numbers
local function unnumbered(text)
  local lines, numbers, numbered, last = words.lines(text), {}, 0, 0
  local bare = {}
  for at, line in ipairs(lines) do
    local number, rest = line:match("^%s*(%d+)[\t:|] ?(.*)$")
    if not number then
      number, rest = line:match("^%s*(%d+)→(.*)$")
    end
    number = tonumber(number)
    if number and number > last then
      numbered, last = numbered + 1, number
      bare[at], numbers[at] = rest, number
    else
      bare[at], numbers[at] = line, last
    end
  end
  if numbered * 10 >= #lines * 9 then
    return bare, numbers
  end
  for at = 1, #lines do
    numbers[at] = at
  end
  return lines, numbers
end

--- The lines that begin something, by their places: those that stand at the margin, or evenly
--- parted ones where there are too few.
---@param lines string[]
---@return integer[]
local function headings(lines)
  -- Marked in one pass: a call for each line would take long.
  local text = ep.re.gsub(HEADING, table.concat(lines, "\n"), MARK .. "$1")
  local found = {}
  for at, line in ipairs(words.lines(text)) do
    if line:sub(1, 1) == MARK then
      found[#found + 1] = at
    end
  end
  if #found >= FEWEST then
    return found
  end
  found = {}
  for part = 0, RANGES - 1 do
    found[part + 1] = 1 + math.floor(part * #lines / RANGES)
  end
  return found
end

--- The first line from here on that says something.
---@param lines string[]
---@param from integer
---@param to integer
---@return string
local function opening(lines, from, to)
  for at = from, to do
    if lines[at]:find("%w") then
      return words.clipped(words.squeezed(lines[at]), MOST_LINE)
    end
  end
  return ""
end

--- A line for each range: its numbers and how it begins. `step` headings share one.
---@param lines string[]
---@param numbers integer[]
---@param found integer[]
---@param step integer
---@return string[]
local function ranges(lines, numbers, found, step)
  local all = {}
  if found[1] > 1 then
    all[1] = numbers[1] .. "-" .. numbers[found[1] - 1] .. ": " .. opening(lines, 1, found[1] - 1)
  end
  for at = 1, #found, step do
    local from, to = found[at], (found[at + step] or #lines + 1) - 1
    local begins = opening(lines, from, to)
    all[#all + 1] = numbers[from] .. "-" .. numbers[to] .. ": " .. begins
  end
  return all
end

---@param text string
---@param entry Arriving
---@param opt table
---@param most integer
---@return string|nil
function sources.of(text, entry, opt, most)
  local lines, numbers = unnumbered(text)
  if #lines <= opt.file_lines then
    return nil
  end
  local args = entry.args or ""
  local name = argument(args, NAMES) or argument(args, { "command", "cmd" })
  local heading = (name and words.clipped(name, MOST_LINE) .. ": " or "")
    .. words.counted(#lines, "line") .. "; what they begin with:"
  local found, digest = headings(lines), nil
  -- All of the file is named: where there are too many ranges, neighbours become one.
  local step = math.max(1, math.ceil(#found * LEAST / most))
  repeat
    digest = heading .. "\n" .. table.concat(ranges(lines, numbers, found, step), "\n")
    step = step * 2
  until ep.count(digest) <= most or step > #found
  return digest
end

return sources
