--- Stage 1: what becomes of a large result on arrival (RULES 46, CTX-001 of 7.8).

--- A text of so many lines.
local function lines(count, say)
  local all = {}
  for at = 1, count do
    all[at] = say and say(at) or "line " .. at
  end
  return table.concat(all, "\n")
end

--- What `tool_result` answers to a result of so many tokens.
local function answer(t, tokens, more, limit)
  local entry = { tool = "fetch", args = "{}", tokens = tokens, lines = 400, text = lines(400) }
  for key, value in pairs(more or {}) do
    entry[key] = value
  end
  local job = {
    entry = entry,
    model = { limit = limit or 100000 },
    tokens = { total = entry.total or tokens },
    original = "0123abcd",
    file = entry.file,
    memo = entry.memo or {},
  }
  entry.total, entry.file, entry.memo = nil, nil, nil
  return t.hook("tool_result", job)
end

local function how(...)
  local found = answer(...)
  return found and found.how
end

return {
  -- "over 15,000 tokens (or over a quarter of the limit, whichever is smaller)"
  test_over_15000_tokens_or_a_quarter_of_the_limit = function(t)
    t.eq(how(t, 15000), nil)
    t.eq(how(t, 15001), "offload")
    t.eq(how(t, 2000, nil, 8000), nil)
    t.eq(how(t, 2001, nil, 8000), "offload")
    t.eq(how(t, 15001, nil, 60004), "offload")
    t.eq(how(t, 15001, nil, 60000), "offload")
    t.eq(how(t, 15000, nil, 60000), nil)
  end,

  -- "heading `Offloaded: <tool> result`, path or id, tokens saved, a preview of the first 10 lines,
  -- how to read it back"
  test_the_reference = function(t)
    local file = ".epitome/offloaded/20260102_030405_fetch_0123abcd.md"
    t.eq(answer(t, 20000, { file = file }).text, [[
## Offloaded: fetch result

.epitome/offloaded/20260102_030405_fetch_0123abcd.md holds it whole: {tokens} tokens in {lines} lines, {saved} tokens saved. It begins:

line 1
line 2
line 3
line 4
line 5
line 6
line 7
line 8
line 9
line 10

To read it, open that file, in parts where it is long: the lines that you need, or what you search it for.]])
    local by_id = answer(t, 20000).text
    for _, piece in ipairs({ "whole as 0123abcd:", "`epitome recall 0123abcd`", "--lines" }) do
      t.ok(by_id:find(piece, 1, true), piece)
    end
    t.ok(not by_id:find(".epitome", 1, true), "no file is named without one")
  end,

  -- "(at most 500 characters)": characters, not bytes
  test_a_preview_of_500_characters = function(t)
    local long = ("é"):rep(120)
    local with = answer(t, 20000, { text = lines(20, function() return long end) }).text
    local _, count = with:gsub("é", "")
    -- Four lines and their breaks are 484 characters.
    t.eq(count, 496)
    with = answer(t, 20000, { text = ("x"):rep(80000), lines = 1 }).text
    t.ok(with:find("\n" .. ("x"):rep(500) .. "\n", 1, true))
  end,

  --- A preview stays what was said, whatever Epitome fills in.
  test_names_in_a_preview_are_not_filled_in = function(t)
    local with = answer(t, 20000, { text = "GET /users/{id}/{name}\n" .. lines(300) }).text
    t.ok(with:find("GET /users/{ id }/{name}", 1, true), with)
  end,

  --- "does the preview hold the essence": failures that it does not show are quoted.
  test_failures_are_quoted = function(t)
    local text = lines(300) .. "\nERROR: no space left\n" .. lines(20)
    local with = answer(t, 20000, { text = text }).text
    t.ok(with:find("It tells of failures:\n\nERROR: no space left\n", 1, true), with)
    with = answer(t, 20000, { text = "src/a.rs:3:1: error: no such thing\n" .. lines(20) }).text
    t.ok(not with:find("It tells of failures", 1, true), "the preview shows it")
    -- Of a very long line what tells of it, and what stands behind.
    text = lines(300) .. "\n" .. ("é"):rep(900) .. " ERROR: full\nlast line"
    with = answer(t, 20000, { text = text }).text
    t.ok(with:find("failures:\n\nERROR: full\n", 1, true), with)
    text = lines(300) .. "\n" .. ("é"):rep(300) .. " ERROR: full"
    with = answer(t, 20000, { text = text }).text
    t.ok(with:find("failures:\n\n" .. ("é"):rep(200) .. "…\n", 1, true), with)
  end,

  -- "else keep with a warning"
  test_a_result_without_an_essence_stays_with_a_warning = function(t)
    local function failing(count)
      return lines(300) .. "\n" .. lines(count, function(at) return "FAILED test_" .. at end)
    end
    t.eq(how(t, 20000, { text = failing(5) }), "offload")
    local memo = {}
    t.eq(how(t, 20000, { text = failing(6), memo = memo }), "keep")
    t.eq(how(t, 20000, { text = ("\n"):rep(30) .. lines(300), memo = memo }), "keep")
    local seen = t.hook("observe", { entry = { speaker = "tool", text = "" }, memo = memo })
    local warning = "CTX-001: the result of fetch (20000 tokens) stays whole: a preview would not"
      .. " hold its essence"
    t.eq(seen, { warn = warning .. "\n" .. warning })
    t.eq(memo.to_say, nil)
    t.eq(t.hook("observe", { entry = { speaker = "tool", text = "" }, memo = memo }), nil)
  end,

  --- What would fill the window over 85 % is offloaded all the same.
  test_what_there_is_no_room_for_is_offloaded = function(t)
    local text = ("\n"):rep(30) .. lines(300)
    t.eq(how(t, 20000, { text = text, total = 85000 }), "keep")
    t.eq(how(t, 20000, { text = text, total = 85001 }), "offload")
  end,

  --- What brings back what left is not offloaded again.
  test_what_was_recalled_stays = function(t)
    t.eq(how(t, 20000, { args = '{"command": "epitome recall 0123abcd"}' }), nil)
    t.eq(how(t, 20000, { args = '{"path": ".epitome/offloaded/x.md"}' }), nil)
    t.eq(how(t, 20000, { tool = "mcp__epitome__recall" }), nil)
  end,
}
