--- What becomes of tool results before they are first sent (RULES 43).

--- A job for a result, in a window of 32000.
local function job_of(tool, text, more)
  local entry = { tool = tool, text = text, tokens = ep.count(text) }
  local _, breaks = text:gsub("\n", "")
  entry.lines = breaks + 1
  for key, value in pairs(more or {}) do
    entry[key] = value
  end
  return { entry = entry, model = { limit = 32000 } }
end

--- What stands in the place of a result; `nil` where it stays.
local function digest(t, tool, text, more, options)
  local answer = t.hook("tool_result", job_of(tool, text, more), options)
  if answer.how == "keep" then
    return nil
  end
  t.eq(answer.how, "digest")
  t.ok(ep.count(answer.text) < ep.count(text), "smaller")
  return answer.text
end

local function holds(t, text, wanted)
  t.ok(text, "a digest")
  for _, one in ipairs(wanted) do
    t.ok(text:find(one, 1, true), one .. " in: " .. text)
  end
end

--- Lines made by a function of their number.
local function lines(count, line)
  local all = {}
  for at = 1, count do
    all[at] = line(at)
  end
  return table.concat(all, "\n")
end

local function sale(at)
  return ('{"id": %d, "region": "R%d", "amount": %d.50}'):format(at, at % 7, at * 3)
end

local function sales(count)
  return "[" .. lines(count, sale):gsub("\n", ",\n") .. "]"
end

local FILLER = ("There is more to say about it than fits here. "):rep(12)

return {
  -- "web search: title, snippet and URL per hit; HTML dropped"
  test_hits_of_a_search = function(t)
    local hit = '{"title": "Ada &amp; <b>Tokio</b> %d", "url": "https://a.dev/%d", "content": "%s",'
      .. ' "raw_html": "<html><body>%s</body></html>", "score": 0.%d}'
    local all = lines(8, function(at)
      return hit:format(at, at, "<p>About " .. at .. "</p>. " .. FILLER, FILLER, at)
    end)
    local text = '{"query": "tokio", "results": [' .. all:gsub("\n", ",") .. "]}"
    local found = digest(t, "tavily_search", text)
    holds(t, found, { "8 hits", "1. Ada & Tokio 1", "https://a.dev/8", "About 8" })
    t.ok(not found:find("[<>]") and not found:find("score", 1, true), found)
    t.eq(digest(t, "mcp__web__web_search", text), found)
  end,

  test_hits_of_a_page = function(t)
    local page = lines(9, function(at)
      return '<div class="result"><a class="t" href="https://b.dev/' .. at .. '"><h3>Page <em>'
        .. at .. "</em></h3></a><script>var x = '<b>';</script><span>It says " .. at
        .. "</span><div style='color: red'>" .. FILLER .. "</div></div>"
    end)
    local found = digest(t, "WebSearch", "<!doctype html><html><body>" .. page .. "</body></html>")
    holds(t, found, { "9 hits", "1. Page 1", "https://b.dev/9", "It says 9" })
    t.ok(not found:find("[<>]") and not found:find("var x", 1, true), found)
  end,

  test_hits_of_a_text = function(t)
    local text = lines(6, function(at)
      return at .. ". Title: Rust " .. at .. "\nURL: https://c.dev/" .. at .. "\nSnippet: It says "
        .. at .. ". " .. FILLER .. "\n"
    end)
    holds(t, digest(t, "google_search", text), {
      "6 hits", "6. Rust 6\n   https://c.dev/6\n   It says 6.",
    })
    text = lines(6, function(at)
      return "- [Rust " .. at .. "](https://c.dev/" .. at .. ")\n  It says " .. at .. ". " .. FILLER
    end)
    holds(t, digest(t, "google_search", text), { "6. Rust 6\n   https://c.dev/6\n   It says 6." })
  end,

  test_a_search_without_hits_is_kept = function(t)
    t.eq(digest(t, "web_search", FILLER .. FILLER), nil)
  end,

  -- "file read over 500 lines: summary and line ranges"
  test_a_file_of_more_than_500_lines = function(t)
    local function code(at)
      local is_first = at % 50 == 1
      return is_first and "pub fn step_" .. at .. "(x: u32) -> u32 {" or "    x += " .. at .. ";"
    end
    t.eq(digest(t, "Read", lines(500, code), { args = '{"file_path": "src/a.rs"}' }), nil)
    local found = digest(t, "Read", lines(501, code), { args = '{"file_path": "src/a.rs"}' })
    holds(t, found, {
      "src/a.rs: 501 lines", "1-50: pub fn step_1(x: u32) -> u32 {", "451-500: pub fn step_451(",
      "501-501: pub fn step_501(",
    })
  end,

  --- The numbers that a tool puts before the lines count.
  test_lines_that_are_numbered = function(t)
    local text = lines(600, function(at)
      return ("%6d\t%s"):format(at + 1000, at % 100 == 1 and "## Part " .. at or "words")
    end)
    holds(t, digest(t, "mcp__fs__read_file", text), { "600 lines", "1001-1100: ## Part 1\n" })
    text = text:gsub("\t", "→")
    holds(t, digest(t, "view", text), { "1501-1600: ## Part 501" })
  end,

  test_a_file_without_headings_is_parted_evenly = function(t)
    local text = lines(1200, function(at) return "measured " .. at end)
    local found = digest(t, "bash", text, { args = '{"command": "cat data/log.txt"}' })
    holds(t, found, { "cat data/log.txt: 1,200 lines", "1-100: measured 1\n", "1101-1200: " })
    t.eq(digest(t, "bash", text, { args = '{"command": "cat a | grep b"}' }), nil)
    t.eq(digest(t, "bash", text, { args = '{"command": "make"}' }), nil)
  end,

  --- Neighbours share a range where there is no room for all; the whole file is still named.
  test_a_file_of_many_parts_fits = function(t)
    local text = lines(6000, function(at) return "def part_" .. at .. "(one, two, three): pass" end)
    local found = digest(t, "read_file", text)
    t.ok(ep.count(found) <= 1000)
    holds(t, found, { "\n1-", "-6000: def part_" })
  end,

  -- "database query over 100 rows: row count and sample rows"
  test_rows_of_a_query = function(t)
    t.eq(digest(t, "run_sql", sales(100)), nil)
    local found = digest(t, "run_sql", sales(101))
    holds(t, found, { "101 rows", "1: " .. sale(1), "26: " .. sale(26), "101: " .. sale(101) })
    t.eq(select(2, found:gsub("region", "")), 5)
    found = digest(t, "db_execute", '{"rowCount": 300, "rows": ' .. sales(300) .. "}")
    holds(t, found, { "rowCount: 300", "300 rows", "300: " .. sale(300) })
  end,

  --- What was written comes out as it was written.
  test_rows_keep_their_digits = function(t)
    local text = "[" .. lines(150, function(at)
      return '{"id": 90071992547409931' .. at .. ', "share": 1.10, "note": "a, [b] \\"c\\""}'
    end):gsub("\n", ", ") .. "]"
    holds(t, digest(t, "query", text), {
      '{"id": 900719925474099311, "share": 1.10, "note": "a, [b] \\"c\\""}',
    })
  end,

  test_rows_that_are_drawn = function(t)
    local body = lines(120, function(at) return (" %4d | north  | %8d"):format(at, at * 5) end)
    local text = "  id | region |   amount\n-----+--------+----------\n" .. body .. "\n(120 rows)"
    holds(t, digest(t, "psql", text), {
      "id | region | amount", "(120 rows)", "120 rows", "1: 1 | north | 5",
      "120: 120 | north | 600",
    })
    text = "id,region,amount\n" .. lines(400, function(at) return at .. ",north," .. at * 5 end)
    local found = digest(t, "sql_query", text)
    holds(t, found, { "id,region,amount", "400 rows", "400: 400,north,2000" })
  end,

  test_what_has_no_rows_is_kept = function(t)
    t.eq(digest(t, "run_sql", "UPDATE 300. " .. FILLER .. FILLER), nil)
  end,

  -- "API response: status and key fields"
  test_a_response = function(t)
    local items = lines(160, function(at)
      return ('{"sku": "s%d", "pieces": %d}'):format(at, at)
    end)
    local body = '{"id": 90071992547409931, "state": "paid", "note": "' .. FILLER .. '", "owner":'
      .. ' {"login": "ada", "url": "https://d.dev"}, "items": [' .. items:gsub("\n", ",") .. "]}"
    local found = digest(t, "http_get", "HTTP/1.1 200 OK\nContent-Type: text/json\n\n" .. body)
    holds(t, found, {
      "HTTP/1.1 200 OK\n", "id: 90071992547409931", "state: paid", "owner: { login, url }",
      'items: 160 items, the first: {"sku": "s1", "pieces": 1}',
    })
    t.ok(not found:find("Content-Type", 1, true))
    -- What room the fields leave is filled with items.
    holds(t, found, { '2: {"sku": "s2", "pieces": 2}', '3: {"sku": "s3", "pieces": 3}' })
    found = digest(t, "api_call", '{"status": 201, "body": ' .. body .. "}")
    holds(t, found, { "status: 201\n", "\nid: 90071992547409931", "state: paid" })
  end,

  -- "kept as they are: errors"
  test_errors_are_kept = function(t)
    local rows = lines(200, sale)
    t.eq(digest(t, "run_sql", rows, { error = true }), nil)
    for _, text in ipairs({
      "HTTP/1.1 503 Service Unavailable\n\n" .. '{"detail": "' .. FILLER .. FILLER .. '"}',
      '{"status": 404, "detail": "' .. FILLER:rep(5) .. '"}',
      '{"error": {"code": 7, "message": "' .. FILLER:rep(5) .. '"}}',
      '{"success": false, "trace": "' .. FILLER:rep(5) .. '"}',
      '{"status": "failed", "trace": "' .. FILLER:rep(5) .. '"}',
      '{"data": {"errors": ["' .. FILLER:rep(5) .. '"]}}',
    }) do
      t.eq(digest(t, "api_call", text), nil, text:sub(1, 30))
    end
    local errors = '{"status": 200, "errors": [], "text": "' .. FILLER:rep(5) .. '"}'
    holds(t, digest(t, "api_call", errors), { "status: 200" })
  end,

  -- "results under 200 tokens, JSON or YAML under 500 tokens"
  test_small_results_are_kept = function(t)
    local many = lines(300, function(at) return at .. ",n" end)
    t.eq(digest(t, "sql", many, { tokens = 199 }), nil)
    t.ok(digest(t, "sql", many, { tokens = 200 }))
    t.eq(digest(t, "sql", sales(300), { tokens = 499 }), nil)
    t.ok(digest(t, "sql", sales(300), { tokens = 500 }))
    local yaml = lines(600, function(at) return "key_" .. at .. ": " .. at end)
    t.eq(digest(t, "read_file", yaml, { tokens = 499 }), nil)
    t.ok(digest(t, "read_file", yaml, { tokens = 500 }))
  end,

  -- "`debug` verbosity switches digests off, not the limits"
  test_debug_switches_digests_off = function(t)
    t.ok(digest(t, "sql", sales(300)))
    t.eq(digest(t, "sql", sales(300), nil, { verbosity = "debug" }), nil)
  end,

  test_a_digest_takes_no_more_than_it_may = function(t)
    local hits = lines(40, function(at)
      return "[R" .. at .. "](https://c.dev/" .. at .. ")\n" .. FILLER
    end)
    local found = digest(t, "web_search", hits)
    t.ok(ep.count(found) <= 1000 and found:find("40 hits", 1, true))
    holds(t, found, { "… ", " hits more" })
    t.ok(ep.count(digest(t, "web_search", hits, nil, { digest_share = 0.01 })) <= 320)
  end,

  --- What brings back what left is not made smaller again.
  test_what_was_recalled_is_kept = function(t)
    local rows = sales(300)
    t.eq(digest(t, "sql", rows, { args = '{"path": ".epitome/offloaded/1a2b3c4d.md"}' }), nil)
    t.eq(digest(t, "read_file", lines(900, sale), { args = '{"x": "epitome recall 1"}' }), nil)
  end,

  test_other_results_are_kept = function(t)
    t.eq(digest(t, "bash", sales(300)), nil)
    t.eq(digest(t, "make", FILLER:rep(30)), nil)
  end,
}
