--- Decisions: the sentences of a message in which a choice is settled for good (RULES 56). Used by
--- `ollm`.
---
--- A classifier of sentences, precise rather than greedy: what asks, weighs, holds for now, is
--- told of others or of the past is none. A decision stands beside the goals from then on, so one that
--- nobody made costs more than one that is missed; a marker tells those.
local settled = require("settled")
local texts = require("texts")

local decisions = {}

--- Who may settle something with a sentence of a kind.
local ANYBODY, PERSON = "anybody", "human"

--- What may stand between who decides and what they do.
local NOW = "(?: now| finally| all| both| just| jointly| already)*"

--- What may open a sentence before it comes to the matter.
local OPENING = "^(?:(?:ok|okay|yes|yeah|no|good|great|right|fine|alright|then|so|and|but|sure|agreed)[,.!:]* +)*"

--- What settles something. `choice` says that the whole sentence must be free of doubt, since the doubt
--- may stand behind it: `let's go with it if the tests pass`. Behind `we decided to` it is part of what
--- was decided.
local SETTLING = {
  { by = ANYBODY, pattern = "\\bwe(?:['’]ve| have)?" .. NOW .. " (?:decided|agreed|settled|chosen|chose|opted) (?:to|on|upon|that|for|against|not to)\\b" },
  { by = PERSON, pattern = "\\bi(?:['’]ve| have)?" .. NOW .. " (?:decided|settled|chosen|chose|opted) (?:to|on|upon|that|for|against|not to)\\b" },
  { by = ANYBODY, pattern = OPENING .. "(?:it|that|this)(?:['’]s| is)(?: now| hereby)? (?:decided|settled|agreed|final)\\b" },
  { by = ANYBODY, pattern = "^(?:key |final |our )*decision(?: made)?: *\\S" },
  { by = ANYBODY, pattern = "\\b(?:our|the|my)(?: final| firm)* decision is (?:to|that|for|against|not to)\\b" },
  { by = ANYBODY, choice = true, pattern = OPENING .. "(?:let['’]s|let us|we['’]ll|we will|we are|we['’]re)(?: going to| then)? (?:go|going|stick|sticking|stay|staying) (?:with|for) +\\S" },
  { by = ANYBODY, choice = true, pattern = OPENING .. "(?:let['’]s|let us|we['’]ll|we will)(?: go and)? (?:use|keep|take|adopt|pick|store|write|build|target|standardi[sz]e on|switch to|move to) .+(?: instead of | rather than |, not | and not )" },
  { by = PERSON, choice = true, pattern = OPENING .. "(?:please )?(?:use|keep|take|adopt|pick|go with|stick with|stick to|stay with|switch to|store|target) .+(?: instead of | rather than |, not | and not )" },
  { by = ANYBODY, choice = true, pattern = OPENING .. "from now on,? (?:we|all|every|everything|everybody|nobody|no one|use|always|never|only)\\b" },
}

--- What leaves a choice open, wherever it stands in the sentence.
local DOUBT = "\\b(?:if|unless|whether|would|could|might|may|maybe|perhaps|probably|possibly|should|suppose|imagine|consider|either|or not|unsure|not sure|in case|when we|once we|i think|i guess|for instance|for example|shall|think about)\\b"

--- What makes it one for a while, or one that holds no longer.
local PASSING = "\\b(?:for now|for the moment|for the time being|temporarily|tentatively|provisionally|to begin with|first|as a test|until|back then|originally|at first|previously|used to|in the past|at the time|last (?:year|month|week|time)|years? ago|mistake|regret|wrong|no longer|reconsider|revisit|undecided)\\b"

--- What stands before `we decided` where it only tells of a decision, or asks for one.
local TOLD = "\\b(?:have|has|had|did|do|does|when|once|until|after|before|why|how|what|whether|where|if|since|because|unless|suppose|as|that|which|not|never|nothing|ask|asked|pretend|imagine|like|says?|said|unclear|sure)\\b[^,;]*$"

--- The longest sentence that is one, in bytes, and the fewest words.
local LONGEST, FEWEST = 300, 4

--- What a decision is about that binds everything built on it: pattern, technology, contract, schema.
local ARCHITECTURE = "\\b(?:architecture|pattern|schema|database|protocol|endpoint|contract|interface|framework|librar(?:y|ies)|format|language|runtime|storage|queue|encoding|migrations?|modules?|services?|apis?|sql\\w*|postgres\\w*|sqlite|mysql|redis|grpc|rest|graphql|json|yaml|toml|protobuf|csv|http)\\b"

--- Whether a pattern is found, whatever the case of its letters.
local function has(text, pattern)
  return ep.re.find("(?i)" .. pattern, text) ~= nil
end

--- Whether a place of a text is within a quotation.
local function is_quoted(before)
  local _, plain = before:gsub('"', "")
  local _, opened = before:gsub("“", "")
  local _, closed = before:gsub("”", "")
  return plain % 2 == 1 or opened > closed
end

--- Adds the sentences of a line, and what follows the first of them. The end of each is looked for once:
--- a pattern that takes the sentence with its end tries every end from every beginning.
---@param found string[]
---@param line string
local function add_sentences(found, line)
  local spaced, from = line .. " ", 1
  local first = spaced:find("[.!?;]%s")
  local ends = first
  while ends do
    found[#found + 1] = spaced:sub(from, ends)
    from = ends + 2
    ends = spaced:find("[.!?;]%s", from)
  end
  found[#found + 1] = first and first < #line and line:sub(first + 2) or line
end

--- The sentences of a text, without markup, code and what it quotes.
---@param text string
---@return string[]
local function sentences(text)
  local found = {}
  -- A pattern is tried at every byte, which a text that has none of its signs need not pay for. What
  -- stands in a fence that is not closed is code as well.
  local prose = text:find("```", 1, true) and (text .. "\n```"):gsub("```.-```", "\n") or text
  -- Scripts without spaces end a sentence with a sign of their own.
  for _, sign in ipairs({ "。", "！", "？" }) do
    prose = prose:find(sign, 1, true) and prose:gsub(sign, sign .. "\n") or prose
  end
  for line in prose:gmatch("[^\n]+") do
    if not line:match("^%s*>") and not line:match("^%s*|") and not line:match("^    ") then
      line = line:gsub("^%s*[-*+•]%s+", ""):gsub("^%s*%d+[.)]%s+", "")
      line = line:find("**", 1, true) and line:gsub("%*%*", "") or line
      add_sentences(found, line)
    end
  end
  return found
end

--- Whether a sentence settles something by one of the ways to do so.
---@param sentence string
---@param way table
---@return boolean
local function settles(sentence, way)
  local at = ep.re.find("(?i)" .. way.pattern, sentence)
  if not at then
    return false
  end
  local before = sentence:sub(1, at - 1)
  if is_quoted(before) or has(before, TOLD) then
    return false
  end
  return not (way.choice and has(sentence, DOUBT)) and not has(before, DOUBT)
end

--- Whether a sentence settles something in another language than English. Languages share words, so that
--- each of those which it may be in has to say so.
---@param sentence string
local function settles_abroad(sentence)
  local found = false
  for _, one in ipairs(settled) do
    local at = ep.re.find("(?i)" .. one.settles, sentence)
    if at then
      local before = sentence:sub(1, at - 1)
      if is_quoted(before) or has(before, one.open) or has(sentence, one.passing) then
        return false
      end
      found = true
    end
  end
  return found
end

--- How many words a sentence has; in scripts without spaces three letters are one.
---@param sentence string
---@return integer
local function words(sentence)
  local _, count = sentence:gsub("%S+", "")
  local _, wide = sentence:gsub("[\227-\237][\128-\191][\128-\191]", "")
  return math.max(count, wide // 3)
end

--- Whether a sentence of somebody settles a choice for good.
---@param sentence string
---@param speaker string `human` or `model`
---@return boolean
function decisions.is_one(sentence, speaker)
  if #sentence > LONGEST or words(sentence) < FEWEST then
    return false
  elseif sentence:match("%?%s*$") or sentence:match("？%s*$") then
    return false
  elseif settles_abroad(sentence) then
    return true
  elseif has(sentence, PASSING) then
    return false
  end
  for _, way in ipairs(SETTLING) do
    if (way.by == ANYBODY or way.by == speaker) and settles(sentence, way) then
      return true
    end
  end
  return false
end

--- The decisions of a message, in the words they were said in.
---@param job GoalsJob
---@return Found[]
function decisions.of(job)
  local found, known = {}, {}
  for _, sentence in ipairs(sentences(job.text)) do
    sentence = texts.trimmed(sentence)
    if not known[sentence] and not sentence:match("^%[") and decisions.is_one(sentence, job.speaker) then
      known[sentence] = true
      local state = has(sentence, ARCHITECTURE) and "architecture" or nil
      found[#found + 1] = { kind = "decision", text = sentence, state = state }
    end
  end
  return found
end

return decisions
