--- The stages of a plan, and the stop hooks that lead through them (RULES 47 to 49, 53).
local talk = require("tests.support.talk")

--- Six messages, after which everything is old enough, of so many tokens each.
local function newest(tokens)
  local all = {}
  for at = 1, 6 do
    all[at] = { "a", tokens or 30 }
  end
  return all
end

local function joined(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, message in ipairs(list) do
      all[#all + 1] = message
    end
  end
  return all
end

--- The task, a file of so many tokens that was written, and the newest messages.
local function wrote(tokens, more, rest)
  local task = { { "u", 50, "Please write the notes for the release." } }
  return joined(task, { talk.write("notes.md", 60, tokens, more), { "r", 20 } }, rest or newest())
end

local TEXT = '[write_file: 900 tokens written to notes.md, 60 lines from "a line of the file";'
  .. " succeeded. The file holds it; read it there.]"

return {
  -- "over 50 %": "arguments over 200 tokens of old write and edit calls whose content is on disk as
  -- written become tool name, original size, path, a one-line account and the status"
  test_persisted_inputs_are_truncated = function(t)
    local job = talk.job(t, wrote(900), 2000, { total = 1001 })
    local orders = t.hook("plan", job)
    t.eq(orders.ops, {
      { op = "replace", entry = 3, how = "truncate_input", call = 1, text = TEXT },
    })
    t.eq({ orders.snapshot, orders.reason }, { true, "old results and inputs were truncated" })
    -- Not over half.
    t.eq(talk.ops(t, talk.job(t, wrote(900), 2000, { total = 1000 })), {})
  end,

  -- "content that is not on disk is left alone"
  test_what_is_not_on_disk_stays = function(t)
    local more = { persisted = false }
    t.eq(talk.ops(t, talk.job(t, wrote(900, more), 2000, { total = 1400 })), {})
  end,

  -- "arguments over 200 tokens"
  test_small_inputs_stay = function(t)
    t.eq(talk.ops(t, talk.job(t, wrote(200), 2000, { total = 1400 })), {})
    t.eq(#talk.ops(t, talk.job(t, wrote(201), 2000, { total = 1400 })), 1)
  end,

  -- "old": not among the newest messages; pins stay
  test_new_and_pinned_inputs_stay = function(t)
    local few = { { "a", 50 }, { "a", 50 }, { "a", 50 }, { "a", 50 } }
    t.eq(talk.ops(t, talk.job(t, wrote(900, nil, few), 2000, { total = 1400 })), {})
    local messages = wrote(900)
    messages[2].pinned = true
    t.eq(talk.ops(t, talk.job(t, messages, 2000, { total = 1400 })), {})
  end,

  -- "and the status"
  test_the_status_is_told = function(t)
    local orders = t.hook("plan", talk.job(t, wrote(900, { ok = false }), 2000, { total = 1400 }))
    t.ok(orders.ops[1].text:find("; no success was reported.", 1, true), orders.ops[1].text)
  end,

  --- The account is read from the call; one that cannot be made out is not invented.
  test_an_account_of_what_cannot_be_read = function(t)
    local messages = wrote(900)
    messages[2].args = "no JSON"
    local orders = t.hook("plan", talk.job(t, messages, 2000, { total = 1400 }))
    t.ok(orders.ops[1].text:find("notes.md, as it stands there; succeeded", 1, true))
  end,

  --- A large result that stayed whole on arrival is offloaded once it is old.
  test_old_results_are_offloaded = function(t)
    local messages = joined({ { "u", 50, "Look at the log, please." }, { "c", 20 } },
      { { "r", 600, ("a line of the log\n"):rep(100) } }, newest())
    local orders = t.hook("plan", talk.job(t, messages, 2000, { total = 1100 }))
    t.eq(#orders.ops, 1)
    t.eq({ orders.ops[1].op, orders.ops[1].entry, orders.ops[1].how }, { "replace", 4, "offload" })
    t.eq(talk.ops(t, talk.job(t, messages, 2800, { total = 1500 })), {}, "a quarter of 2800 is 700")
  end,

  -- "over 75 % and the first two not enough"
  test_truncation_that_is_enough_comes_first = function(t)
    local function ops(total)
      return talk.ops(t, talk.job(t, wrote(900), 2000, { total = total }))
    end
    t.eq(ops(1600)[1][1], "replace")
    t.eq(#ops(1600), 1)
  end,

  -- "archive the whole conversation as Markdown first, then a structured summary"; the task stays,
  -- and so do the newest messages.
  test_a_summary_with_an_archive_first = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 1000 }, { "a", 300 } }, newest())
    local job = talk.job(t, messages, 2200, { workspace = true, session = "my talk/1" })
    local ops, orders = talk.ops(t, job)
    t.eq(orders.ops[1], { op = "write_file", name = "archive/my-talk-1_full.md" })
    t.eq(ops[2], { "summarize", { 3, 4 }, 720 })
    t.eq({ #ops, orders.snapshot, orders.reason }, { 2, true, "older messages became a summary" })
    -- Without a workspace the journal alone has the original.
    job = talk.job(t, messages, 2200)
    t.eq(talk.ops(t, job), { { "summarize", { 3, 4 }, 720 } })
    t.eq(job.memo.intent, "Please compare the two drafts of the report.")
  end,

  --- Behind what people asked roles go on to alternate, and the summary that stands behind it is as large
  --- as it would be without.
  test_a_line_where_an_answer_left = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "c", 100 }, { "r", 500 } }, { { "u", 60, "And what does the second one leave out?" } },
      { { "a", 600, "It leaves out the costs." } }, { { "u", 40, "Add them to the first one, please." } },
      newest())
    local job = talk.job(t, messages, 2200)
    local _, orders = talk.ops(t, job)
    local lines = {}
    for _, op in ipairs(orders.ops) do
      if op.op == "insert" then
        lines[#lines + 1] = { op.after, op.role, op.text }
      end
    end
    t.eq(lines, { { 2, "assistant", "I worked on that." }, { 5, "assistant", "It leaves out the costs." } })
    t.eq(job.memo.left.before, job.compressions)
  end,

  --- Behind another question an answer would be read as the answer to that.
  test_an_answer_leaves_with_its_question = function(t)
    local function covers(question)
      local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
        { { "a", 900 }, { "u", question, "And what does the second one leave out?" }, { "a", 100 } },
        { { "u", 40, "Add them to the first one, please." }, { "a", 30 }, { "u", 30, "And now?" } })
      local job = talk.job(t, messages, 2000, { total = 1700 })
      return talk.ops(t, job, { intent_share = 0.08 })[1][2]
    end
    -- The question is too long to stay for itself; a short one stays, and so does its answer.
    t.eq(covers(200), { 3, 4, 5 })
    t.eq(covers(10), { 3 })
  end,

  --- What is planned while nothing is due is the summary that comes next, from 70 % on: models write it
  --- in advance.
  test_a_summary_is_drafted_in_advance = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 1000 }, { "a", 300 } }, newest())
    local function drafted(total, ahead)
      local job = talk.job(t, messages, 2200, { total = total, memo = { ahead = ahead } })
      return #talk.ops(t, job)
    end
    t.eq({ drafted(1541, true), drafted(1540, true), drafted(1541) }, { 1, 0, 0 })
  end,

  --- Where what stays leaves little room, a summary gets a quarter of what it stands for, up to
  --- where the next one is due: 70 % of 2000.
  test_a_summary_has_room = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 600 } }, { { "a", 800 } })
    t.eq(talk.ops(t, talk.job(t, messages, 2000))[1], { "summarize", { 3 }, 150 })
    messages[2][2], messages[3][2] = 820, 600
    t.eq(talk.ops(t, talk.job(t, messages, 2000))[1], { "summarize", { 3 }, 205 })
    messages[2][2], messages[3][2] = 1020, 300
    t.eq(talk.ops(t, talk.job(t, messages, 1800))[1], { "summarize", { 3 }, 400 })
    -- Where the next one is due at once in any case, it gets its quarter all the same.
    messages[2][2], messages[3][2] = 700, 1600
    local job = talk.job(t, messages, 2500, { cause = "hard" })
    t.eq(talk.ops(t, job)[1], { "summarize", { 3 }, 175 })
  end,

  --- The one before goes into it; inputs that leave now are not truncated.
  test_a_summary_takes_the_one_before_into_itself = function(t)
    local messages = joined(
      { { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 900, checkpoint = 1 }, { "a", 300, checkpoint = 1 } },
      { talk.write("notes.md", 20, 300), { "r", 20 }, { "a", 1120 } }, newest())
    local job = talk.job(t, messages, 2500, { checkpoint = 300 })
    t.eq(talk.ops(t, job), { { "summarize", { 3, 4, 5, 6, 7 }, 870 } })
  end,

  test_a_summary_alone_is_not_written_anew = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts." } },
      { { "a", 900, checkpoint = 1 } }, newest(10))
    local job = talk.job(t, messages, 1000, { checkpoint = 300, total = 800 })
    t.eq(talk.ops(t, job), {})
  end,

  -- "never lose the intent": what the person wants now stays beside what opened the conversation,
  -- and what else people said as far as there is room, which is 10 % of the limit
  test_the_intent_stays = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 700 }, { "u", 60, "Now write the second one anew, in English." } },
      { { "a", 400 }, { "u", 10, "go on" }, { "a", 300 } }, newest())
    local job = talk.job(t, messages, 2200)
    -- Beside two lines.
    local line = ep.count("a says 3") + 4
    t.eq(talk.ops(t, job)[1], { "summarize", { 3, 5, 7 }, 650 - 2 * line })
    t.eq(job.memo.intent, "Now write the second one anew, in English.")
    t.eq(talk.ops(t, job, { intent_share = 0.075 })[1][2], { 3, 5, 6, 7 })
    t.eq(talk.ops(t, job, { intent_share = 0.03 })[1][2], { 2, 3, 5, 6, 7 })
  end,

  --- A long task is summed up, and what is kept of it is in the facts that a summary must hold.
  test_a_long_task_is_summed_up = function(t)
    local messages = joined({ { "u", 900, "Please compare the two drafts of the report." } },
      { { "a", 500 } }, newest())
    t.eq(talk.ops(t, talk.job(t, messages, 2200))[1][2], { 2, 3 })
  end,

  -- "stages 1–2 spent, intent captured, artifacts listed, else checkpoint and fresh session"
  test_without_an_intent_a_fresh_session_is_recommended = function(t)
    local messages = joined({ { "a", 1000 }, { "a", 400 } }, newest())
    t.eq(talk.ops(t, talk.job(t, messages, 2200)), {
      { "summarize", { 2, 3 }, 820 }, { "handover", {} },
    })
    local unnamed = wrote(400, { path = "", persisted = false }, newest(250))
    t.eq(talk.ops(t, talk.job(t, unnamed, 2500))[2], { "handover", {} })
  end,

  -- "Over 85 % (hard): checkpoint, and recommend a fresh session"; at once, whatever else there is
  test_over_85_percent = function(t)
    local messages = joined(wrote(900, nil, { { "a", 500 } }), newest())
    local ops = talk.ops(t, talk.job(t, messages, 2200, { cause = "hard", total = 1871 }))
    t.eq(ops, { { "summarize", { 3, 4, 5 }, 649 }, { "handover", {} } })
    ops = talk.ops(t, talk.job(t, messages, 2200, { total = 1870 }))
    t.eq(ops[1][1], "replace")
  end,

  --- It is recommended once for each compression, however often a plan comes to nothing.
  test_a_fresh_session_is_recommended_once = function(t)
    local messages = joined(wrote(900, nil, { { "a", 500 } }), newest())
    local memo = { handed = 3 }
    local function ops(compressions)
      local more = { cause = "hard", total = 1900, memo = memo, compressions = compressions }
      return #talk.ops(t, talk.job(t, messages, 2200, more))
    end
    t.eq({ ops(3), ops(4), ops(4) }, { 1, 2, 1 })
  end,

  --- Where nothing of it is enough the kernel makes it fit.
  test_what_is_not_enough_is_made_to_fit = function(t)
    local messages = { { "u", 100, "Please look at this." }, { "a", 1900 } }
    t.eq(talk.ops(t, talk.job(t, messages, 2000, { cause = "hard" })), {
      { "fit", {} }, { "handover", {} },
    })
  end,

  --- A compression that brings back what was found makes room for it, however little is in use.
  test_room_is_made_for_what_was_found_again = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 2000 }, { "a", 1000 } }, newest())
    local function ops(bring)
      local more = { cause = "manual", memo = { bring = bring } }
      return talk.ops(t, talk.job(t, messages, 10000, more))
    end
    t.eq(ops(nil), {})
    t.eq(ops(true), { { "summarize", { 3, 4 }, 2000 } })
  end,

  --- Who asks for a compression gets one, from the first stage that brings something.
  test_what_is_asked_for_is_done = function(t)
    local messages = joined({ { "u", 100, "Please compare the two drafts of the report." } },
      { { "a", 1000 }, { "a", 1000 } }, newest())
    local job = talk.job(t, messages, 10000, { cause = "manual" })
    job.target = 1200
    t.eq(talk.ops(t, job)[1][1], "summarize")
  end,
}
