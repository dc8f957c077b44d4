--- Drift: whether what the agent does after a summary is what the session is for (RULES 51).
---
--- Four questions, answered without a model, in any language, and in doubt in the agent's favour:
--- one that does not forget is left alone. What they are answered by is gathered from the whole
--- conversation when a summary is ordered; `job.memo.drift` holds it until the summary is made and
--- the next messages have been looked at.
local calls = require("calls")
local intents = require("intent")
local templates = require("templates")
local texts = require("texts")
local words = require("words")

local drift = {}

--- How much is remembered: words of the conversation, and calls that wrote. What is read for it:
--- the newest messages, each up to so many characters, and the beginnings of what people said and
--- of calls before.
local WORDS, WRITES, NEWEST, READ, OLDER = 1500, 200, 30, 1000, 300

--- The share of its words that an action has in common with the conversation, where it is about
--- something else; and the least that it must say to be judged.
local STRANGE, TELLING = 0.25, 3

--- The longest question that asks rather than offers, in characters; the longest text that declares
--- a work done rather than tells of it, in bytes.
local QUESTION, DECLARED = 600, 600

--- The most of an intent or an action that is told, in characters.
local TOLD = 200

--- The most of the intent that is searched for, in tokens.
local QUERY = 40

--- Nothing was repeated yet.
local NONE = 1000000

--- What ends a question, and what is one wherever it ends.
local ASKS = "[?？؟]\\s*$"
local INQUIRES = "[?？؟]"

--- A line of a result that says what was made, and the most of them that are read.
local MADE = "(?im)^.*\\b(?:saved?|saving|wrote|written|writing|created|generated|exported|produced)\\b.*$"
local MOST_MADE = 20

--- What is known of a conversation when it is summed up.
---@class Anchor
---@field compression integer the number of the summary that it belongs to
---@field words table<string, boolean> what was talked about
---@field count integer how many these are
---@field writes table<string, boolean> calls that wrote, by `calls.key`
---@field kept integer how many these are
---@field named string[] files that the intent names
---@field untouched string[] those of them that no call named
---@field ordered string[] those of them that it asks for in so many words
---@field written boolean whether a file that it names was written
---@field calls boolean whether there was a call
---@field working boolean whether the agent was in the middle of its work
---@field asking boolean whether it asked questions before
---@field idle integer messages since in which a person said no more than to go on
---@field looked boolean|nil whether a message of it was looked at
---@field strange integer actions in a row that nothing explains
---@field wrote boolean whether something new was written since
---@field made table<string, boolean> calls that wrote since, by `calls.key`
---@field results table<string, string> what each call since came to, by `calls.key`
---@field first table<string, integer> how many had brought something new before each came to that
---@field open string[] the calls whose results are to come
---@field repeated integer calls since that came to what they had come to before
---@field explored integer calls since that brought something new
---@field since integer how many of these came before all that was repeated

--- A text on one line, for people.
local function told(text)
  return texts.clipped((text:gsub("%s+", " "):gsub("^ ", "")), TOLD)
end

--- Adds the words of a text, as far as there is room.
---@param most integer|nil characters that are read of it
local function learn(anchor, text, most)
  if anchor.count == WORDS then
    return
  end
  for _, word in ipairs(words.of((texts.begin(text, most or READ)), 200)) do
    if not anchor.words[word] and anchor.count < WORDS then
      anchor.words[word], anchor.count = true, anchor.count + 1
    end
  end
end

--- Whether one of these patterns matches.
local function matches(patterns, text)
  for _, pattern in ipairs(patterns) do
    if ep.re.find(pattern, text) then
      return true
    end
  end
  return false
end

--- Remembers the calls of a message that wrote, and succeeded.
local function learn_writes(anchor, entries, place)
  local text, names = entries:text(place) or "", entries.names[place]
  for _, input in ipairs(entries.inputs[place] or {}) do
    local arguments = input.ok and calls.arguments(text, names, input.call)
    if arguments and anchor.kept < WRITES then
      anchor.writes[calls.key(input.tool, arguments)] = true
      anchor.kept = anchor.kept + 1
    end
  end
end

--- Takes files out of those that no call named.
local function touch(anchor, text)
  for _, files in ipairs({ anchor.untouched, anchor.ordered }) do
    for at = #files, 1, -1 do
      if text:find(files[at], 1, true) then
        table.remove(files, at)
      end
    end
  end
end

--- Takes files out that a result says were made: no call has to name them.
local function touch_made(anchor, result)
  if #anchor.untouched + #anchor.ordered > 0 then
    for _, line in ipairs(ep.re.all(MADE, result, MOST_MADE)) do
      touch(anchor, line)
    end
  end
end

--- Whether one of these files was written.
local function wrote(names, path)
  for _, name in ipairs(names) do
    if path:sub(-#name) == name then
      return true
    end
  end
  return false
end

--- Whether a text names one of these files.
local function names_one(names, text)
  for _, name in ipairs(names) do
    if text:find(name, 1, true) then
      return true
    end
  end
  return false
end

--- Whether the model asked something in one of its last messages to a person.
local function was_asking(entries)
  local left = 4
  for place = entries.count, 1, -1 do
    if entries.speaker[place] == "model" and not entries.tools[place] then
      left = left - 1
      if ep.re.find(ASKS, entries:text(place) or "") then
        return true
      end
    end
    if left == 0 then
      break
    end
  end
  return false
end

--- Whether the agent is in the middle of its work: what came last is a result, or a person told it
--- to go on with it.
local function is_working(entries)
  local last = entries.count
  if entries.speaker[last] == "human" and not intents.is_stated(entries:text(last) or "") then
    last = last - 1
    while last > 1 and not entries.tools[last] and entries.speaker[last] == "model" do
      last = last - 1
    end
  end
  return last > 0 and entries.tools[last] == true
end

--- Takes note of what a call came to.
---@param anchor Anchor
local function learn_call(anchor, key, result)
  if anchor.results[key] == result then
    anchor.repeated = anchor.repeated + 1
    anchor.since = math.min(anchor.since, anchor.first[key])
  else
    anchor.first[key], anchor.explored = anchor.explored, anchor.explored + 1
    anchor.results[key] = result
  end
end

--- Goes on with what was watched before: what calls behind the summary before came to, as far as they
--- stay in the prompt. Looking again at what leaves it now repeats nothing.
---@param anchor Anchor
---@param covers table<integer, boolean> the messages that leave
local function go_on(anchor, job, covers)
  local before, entries = job.memo.drift, job.entries
  if not before or not before.made or before.compression ~= job.compressions then
    return
  end
  for place = 1, entries.count do
    if entries.tools[place] and entries.speaker[place] == "model" and not covers[place] then
      local text, names = entries:text(place) or "", entries.names[place]
      for call = 1, #names do
        local arguments = calls.arguments(text, names, call)
        local key = arguments and calls.key(names[call], arguments)
        if key and before.results[key] then
          learn_call(anchor, key, before.results[key])
        end
        if key and before.made[key] then
          anchor.made[key] = true
        end
      end
    end
  end
end

--- What is known before a summary, for the messages behind it.
---@param job PlanJob
---@param intent string
---@param covers table<integer, boolean> the messages that leave
---@return Anchor
function drift.anchor(job, intent, covers)
  local entries, names = job.entries, words.files(intent)
  local anchor = {
    compression = job.compressions + 1,
    words = {}, count = 0, writes = {}, kept = 0,
    named = names,
    untouched = words.files(intent),
    ordered = words.ordered_files(intent, job.options.ordered_by),
    written = false,
    calls = false,
    working = is_working(entries),
    asking = was_asking(entries),
    strange = 0, idle = 0,
    wrote = false,
    made = {},
    results = {}, first = {}, open = {}, repeated = 0, explored = 0, since = NONE,
  }
  go_on(anchor, job, covers)
  learn(anchor, intent)
  for place = entries.count, 1, -1 do
    local speaker, is_new = entries.speaker[place], place > entries.count - NEWEST
    local is_call = entries.tools[place] and speaker == "model"
    local is_read = is_call or is_new or speaker == "human"
    local text = is_read and entries:text(place) or ""
    if is_call then
      anchor.calls = true
      learn_writes(anchor, entries, place)
      touch(anchor, text)
      for _, input in ipairs(entries.inputs[place] or {}) do
        anchor.written = anchor.written or wrote(names, input.path)
      end
    end
    learn(anchor, text, is_new and READ or OLDER)
  end
  return anchor
end

--- Whether a message is one of the first behind a summary that was made.
---@param job ObserveJob
---@return boolean
function drift.is_watched(job)
  local anchor = job.memo.drift
  -- Notes of an older version lack what is asked for here.
  return anchor ~= nil and anchor.made ~= nil and job.compressions == anchor.compression
    and job.since_compaction - anchor.idle <= job.options.drift_messages
end

--- What a message of the model says beside its calls.
local function said(job)
  local text = job.entry:text()
  local first = job.actions[1]
  if first then
    local opened = first.tool .. "("
    local at = text:sub(1, #opened) == opened and 1 or text:find("\n" .. opened, 1, true)
    text = at and text:sub(1, at - 1) or text
  end
  return text
end

--- Does the action match the intent? One that nothing in the conversation explains is strange, and
--- several in a row are drift: new ground is often broken, and mostly one finds the way back.
---@param anchor Anchor
local function is_elsewhere(job, anchor)
  if #job.actions == 0 then
    return false
  end
  local about = { said(job) }
  for _, action in ipairs(job.actions) do
    about[#about + 1] = words.of_call(action.arguments)
  end
  local all, known = words.of(table.concat(about, " "), 300), 0
  for _, word in ipairs(all) do
    known = known + (anchor.words[word] and 1 or 0)
  end
  local is_new = false
  for _, action in ipairs(job.actions) do
    is_new = is_new or not anchor.results[calls.key(action.tool, action.arguments)]
  end
  if known >= #all * STRANGE then
    anchor.strange = 0
  elseif #all >= TELLING and is_new then
    anchor.strange = anchor.strange + 1
  end
  return anchor.strange >= job.options.drift_actions
end

--- Forgets what calls came to: what is new changes what they may come to.
---@param anchor Anchor
local function begin_round(anchor)
  anchor.results, anchor.first, anchor.open = {}, {}, {}
  anchor.repeated, anchor.explored, anchor.since = 0, 0, NONE
end

--- Takes note of a call that was made before: what was explored before all that is repeated counts for
--- none of it.
---@param anchor Anchor
local function repeat_from(anchor, key)
  anchor.since = math.min(anchor.since, anchor.first[key] or NONE)
end

--- Whether a person ordered that something is done again and again.
local function orders_repetition(job)
  local stated = job.memo.stated or {}
  for _, text in ipairs({ job.memo.intent or "", stated.first or "", stated.revised or "" }) do
    if matches(job.options.repeats_by, text) then
      return true
    end
  end
  return false
end

--- Is it progress? What was written once is not written again, and calls whose results stay the same
--- are not made for ever, whatever stands between them: repeating counts against the exploring since
--- then. Looking again at what left the prompt is none of it, since only calls behind the summary
--- count. What is written behind it may be taken back and written again, but not for ever.
---@param anchor Anchor
local function is_standing_still(job, anchor)
  local again, is_new, repeats, open = false, false, 0, {}
  for _, action in ipairs(job.actions) do
    local key = calls.key(action.tool, action.arguments)
    if matches(job.options.write_tools, action.tool) then
      again, is_new = again or anchor.writes[key] == true, is_new or not anchor.made[key]
      anchor.wrote, anchor.made[key] = true, true
    end
    if anchor.results[key] then
      repeats = repeats + 1
      repeat_from(anchor, key)
    end
    open[#open + 1] = key
  end
  if is_new and not again then
    begin_round(anchor)
  else
    anchor.open = open
  end
  local repeated = anchor.repeated + repeats
  return again or repeats > 0 and repeated >= job.options.drift_repeats - 1
    and repeated > anchor.explored - anchor.since and not orders_repetition(job)
end

--- Does the agent ask a clarifying question at once, in the middle of its work, where it did not
--- ask before? What it is to do at all it need not ask later either, unless it wrote something
--- meanwhile.
---@param anchor Anchor
local function is_asking(job, anchor)
  local text = job.entry:text()
  if #job.actions > 0 or anchor.asking or not anchor.working or (utf8.len(text) or 0) > QUESTION
    or not ep.re.find(INQUIRES, text) then
    return false
  end
  if not anchor.wrote and matches(job.options.asks_for_work, text)
    and not matches(job.options.finished, text) then
    return true
  elseif not ep.re.find(ASKS, text) then
    return false
  end
  local sentences = ep.re.all("[^.!?？؟。！\\n]+[.!?？؟。！\\n]*", text, 50)
  local questions = 0
  for _, sentence in ipairs(sentences) do
    questions = questions + (ep.re.find(ASKS, sentence) and 1 or 0)
  end
  return not anchor.looked and questions * 2 >= #sentences
end

--- Does the agent declare itself done, in a few words, without the deliverable: a file that the
--- intent names, that no call ever named, while none that it names was written, or that the intent
--- asks for in so many words? Of an agent that calls no tools nobody can tell.
---@param anchor Anchor
local function is_done_early(job, anchor)
  local text = job.entry:text()
  return #job.actions == 0 and anchor.calls
    and (#anchor.ordered > 0 or #anchor.untouched > 0 and not anchor.written)
    and #text <= DECLARED and matches(job.options.finished, text) and not ep.re.find(ASKS, text)
end

--- The questions, the surest first, and what shows that the answer is drift.
local QUESTIONS = {
  { asks = is_standing_still, trigger = "no progress" },
  { asks = is_done_early, trigger = "done without the deliverable" },
  { asks = is_asking, trigger = "a clarifying question" },
  { asks = is_elsewhere, trigger = "an action that does not match the intent" },
}

--- What the agent did, for people.
local function action_of(job)
  local first = job.actions[1]
  return told(first and first.tool .. "(" .. first.arguments .. ")" or job.entry:text())
end

--- What the session is for, in its own words: what the goal or a person says, and where that is only
--- to go on, what was said before the summary.
---@param job ObserveJob
---@return string
local function intent_of(job)
  local said = job.intent or ""
  return not intents.is_stated(said) and job.memo.intent or said
end

--- What shows that a message of the model is drift.
---@param job ObserveJob
---@param anchor Anchor
---@return Drift|nil
local function judged(job, anchor)
  local trigger = nil
  for _, question in ipairs(QUESTIONS) do
    -- Each is asked, since some remember what they saw.
    local holds = question.asks(job, anchor)
    trigger = trigger or holds and question.trigger or nil
  end
  if not trigger then
    return nil
  end
  return { trigger = trigger, intent = told(intent_of(job)), action = action_of(job) }
end

--- Takes note of what the calls that are open came to.
---@param result string
local function learn_result(anchor, result)
  for _, key in ipairs(anchor.open) do
    learn_call(anchor, key, result)
  end
  anchor.open = {}
end

--- Takes note of what else a message brings.
---@param anchor Anchor
local function note(job, anchor)
  local entry = job.entry
  if entry.speaker == "model" then
    for _, action in ipairs(job.actions) do
      touch(anchor, action.arguments)
      local writes = matches(job.options.write_tools, action.tool)
      anchor.written = anchor.written or writes and names_one(anchor.named, action.arguments)
    end
    anchor.looked = true
    return
  end
  if entry.speaker == "tool" then
    touch_made(anchor, entry:text())
  end
  -- What came of something strange explains nothing.
  if entry.speaker == "human" or anchor.strange == 0 then
    learn(anchor, entry:text())
  end
  local is_stated = entry.speaker == "human" and intents.is_stated(entry:text())
  if entry.speaker == "human" and not is_stated then
    anchor.idle = anchor.idle + 1
  end
  if is_stated then
    -- Who is told something new may ask, and need not deliver what was wanted before.
    anchor.working, anchor.untouched, anchor.ordered, anchor.made = false, {}, {}, {}
    begin_round(anchor)
  elseif #anchor.open > 0 then
    learn_result(anchor, ep.hash(entry:text()))
  end
end

--- Looks at a message behind a summary. What looks like drift is told once; a model is asked first
--- whether it is, where the options say so.
---@param job ObserveJob
---@return Drift|nil found, Ask|nil ask
function drift.of(job)
  local anchor = job.memo.drift
  local found = job.entry.speaker == "model" and judged(job, anchor) or nil
  if found and job.options.ask_drift then
    local reply = job.replies.drift
    if not reply then
      return nil, drift.question(found)
    end
    found = reply:lower():match("^%W*yes") and found or nil
  end
  note(job, anchor)
  job.memo.drift = not found and anchor or nil
  return found, nil
end

--- What the original context is searched for.
---@param job ObserveJob
---@return string
function drift.query(job)
  return ep.clip((intent_of(job):gsub("%s+", " ")), QUERY)
end

--- The question to a model.
---@param found Drift
---@return Ask
function drift.question(found)
  local values = { intent = found.intent, action = found.action }
  return { id = "drift", user = templates.fill("drift", values), max_tokens = 4 }
end

return drift
