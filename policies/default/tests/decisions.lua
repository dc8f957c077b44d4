--- The decisions that are built in, with options whose figures are easy to follow.
local OPTIONS = {
  trigger = { warn = 0.7, prefetch = 0.75, soft = 0.8, target = 0.5 },
  limit = { reserve = 100, reserve_share = 0.05 },
  tool_results = {
    digest_from = 100,
    digest_share = 0.5,
    offload_above = 500,
    offload_share = 0.4,
    preview = 60,
    preview_share = 0.05,
    exempt = { "epitome recall" },
  },
  compress = { minimum_gain = 0.05 },
  summaries = {
    style = "extend",
    prompt = "At most {max_tokens}: {conversation}",
    share = 0.75,
    missing_facts_heading = "Also:",
    extract_heading = "Said:",
  },
}

local LIMIT = 1000

return {
  test_bounds_are_shares_of_the_limit = function(t)
    local function bounds(limit)
      return t.hook("budgets", { model = { limit = limit } }, OPTIONS)
    end
    t.eq(bounds(1000), { warn = 700, ahead = 750, soft = 800, hard = 950, target = 500, reserve = 50 })
    t.eq(bounds(10000).hard, 9900)
  end,

  test_large_results_are_made_smaller = function(t)
    local function check(tokens, tool, args, expected)
      local entry = { tool = tool, args = args, tokens = tokens }
      t.eq(t.hook("tool_result", { model = { limit = LIMIT }, entry = entry }, OPTIONS), expected)
    end
    check(99, "read", "{}", { how = "keep" })
    check(100, "read", "{}", { how = "digest", max_tokens = 50 })
    check(400, "read", "{}", { how = "digest", max_tokens = 200 })
    check(401, "read", "{}", { how = "offload", max_tokens = 50 })
    check(400, "bash", "epitome recall 1a2b", { how = "keep" })
    check(401, "bash", "epitome recall 1a2b", { how = "keep" })
    check(9999, nil, nil, { how = "keep" })
  end,

  test_a_cached_prefix_waits_until_a_rewrite_pays = function(t)
    local function level(tokens, forgone, cost, stalled)
      local due = t.hook("trigger", {
        tokens = { total = tokens },
        budgets = { soft = 800, hard = 950, target = 500 },
        cache = { warm = true, rewrite_cost = cost, forgone_cost = forgone },
        stalled_at = stalled,
      }, OPTIONS)
      return due and due.level
    end
    t.eq(level(799, 1000, 0), false)
    t.eq(level(900, 409, 410), false)
    t.eq(level(900, 410, 410), "soft")
    t.eq(level(951, 0, 410), "hard")
    t.eq(level(944, 0, 0, 900), false)
    t.eq(level(945, 0, 0, 900), "soft")
  end,

  test_a_model_is_told_to_leave_room_for_what_it_forgets = function(t)
    t.eq(t.hook("summary_prompt", { max_tokens = 100 }, OPTIONS), {
      style = "extend",
      user = "At most 75: {conversation}",
      max_tokens = 100,
      beside = "Said:",
    })
  end,

  test_what_a_summary_forgot_is_added_where_there_is_room = function(t)
    local function fact(text, found, extracted)
      return { text = text, found = found, extracted = extracted, tokens = 10 }
    end
    local facts = { fact("a.rs", true, true), fact("b.rs", false, false), fact("c.rs", false, true) }
    local function judged(most, list)
      local job = { candidate = "short", tokens = 40, max_tokens = most, must_keep = list }
      return t.hook("verify", job, OPTIONS)
    end
    t.eq(judged(99, { facts[1] }), true)
    t.eq(judged(99, facts), { append = "Also:\n- c.rs\n- b.rs" })
    t.eq(judged(60, facts), { append = "Also:\n- c.rs" })
    local reject = "it keeps 1 of 3 facts, and without a model it would be 2"
    t.eq(judged(50, facts), { reject = reject })
  end,

  test_a_plan_is_the_kernels_own = function(t)
    t.eq(t.hook("plan", { target = 500 }, OPTIONS), { ops = { { op = "fit" } } })
  end,
}
