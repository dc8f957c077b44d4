--- Run by `epitome policy test NAME`, and before a change of the policy is taken up.
return {
  test_a_compression_is_considered_earlier = function(t)
    -- The hook, its job, the options, and what the policies behind answer.
    local job = { model = { limit = 6800 } }
    local behind = { soft = 5000, hard = 6800, target = 3000 }
    local bounds = t.hook("budgets", job, { compress_from = 0.5 }, behind)
    t.eq(bounds, { soft = 2500, hard = 6800, target = 1500 })
  end,
}
