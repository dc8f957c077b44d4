--- Whole conversations under this policy. `agent` is made up; put a recording of yours beside this
--- file, and name it: `t.replay("session.jsonl")`. Run by `epitome policy test NAME`.
return {
  test_a_long_session_pays_and_keeps_what_was_forbidden = function(t)
    local played = t.replay("agent")
    -- A rewrite that the window forces may not have paid for itself yet.
    t.ok(played.cost <= 1.2, "its prompts cost " .. played.cost .. " times those of `none`")
    t.ok(played.prompt:find("Never push to main", 1, true), "a rule is gone")
    t.eq(played.discarded, {}, "plans that another policy's took the place of")
    t.eq(played.errors, {}, "hooks that failed")
  end,
}
