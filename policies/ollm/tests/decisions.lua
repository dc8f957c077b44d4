--- Key decisions: the sentences in which a choice is settled for good, and those that only look alike.

--- What is decided, whoever says it.
local SETTLED = {
  "We decided to use SQLite for the journal.",
  "We've decided on a ring buffer of 4096 entries.",
  "We have agreed that errors should name the line.",
  "We finally settled on one crate for each provider.",
  "After the benchmark, we chose to keep the old parser.",
  "We decided not to cache results in the client.",
  "We decided to retry if the call fails.",
  "We agreed on UTF-8 everywhere.",
  "We have all agreed to drop support for Python 3.8.",
  "We opted for a single table.",
  "It is decided: the importer skips broken rows.",
  "That's settled, the limit stays at 2048 tokens.",
  "This is final: no new dependencies in the core.",
  "Decision: the cache lives in the proxy.",
  "Final decision: one file for each month.",
  "Key decision: keys are hashes of the content.",
  "The decision is to ship without the plugin host.",
  "Our final decision is to keep both formats.",
  "Let's go with Postgres instead of MySQL.",
  "OK, let's go with the second layout.",
  "Then let's stick with tabs.",
  "We'll go with the blocking client.",
  "We're going with gRPC for the internal API.",
  "We'll use TOML instead of YAML for the settings.",
  "Let's keep the greenhouse file rather than the seed list.",
  "We will store timestamps in UTC, not in local time.",
  "From now on, every commit names its issue.",
  "From now on we write new tools in Rust.",
}

--- What a person decides with, and a model only says of its next step.
local ORDERED = {
  "Use rg instead of grep.",
  "Please use the blocking client rather than the async one.",
  "Keep the public API as it is, and not the internal one.",
  "No, stick with version 2 instead of the beta.",
  "I've decided to rent the smaller van.",
  "I decided on the blue tiles.",
}

--- What is no decision, whoever says it.
local OPEN = {
  "Have we decided to use SQLite?",
  "Did we decide on a name?",
  "Should we go with Postgres instead of MySQL?",
  "Let's go with Postgres?",
  "If we decided to use SQLite, the tests would be slower.",
  "We have not decided on a name yet.",
  "We haven't decided to drop it.",
  "Nothing is decided.",
  "We never agreed to that.",
  "Maybe we'll go with the second layout.",
  "Let's go with the second layout if the tests pass.",
  "Let's go with the mock for now.",
  "We decided to keep the old parser for the time being.",
  "Perhaps we should use TOML instead of YAML.",
  "We could use TOML instead of YAML.",
  "I think we'll use TOML instead of YAML.",
  "They decided to use MongoDB.",
  "Our competitor settled on a yearly fee.",
  "Last year we decided to use MongoDB.",
  "We decided on MongoDB back then.",
  "Originally we agreed to ship in March.",
  "The file says \"we decided to use SQLite\" in its header.",
  "I wonder why we decided to use SQLite.",
  "Once we decided on the schema the rest was easy.",
  "Ask her whether we agreed on the price.",
  "Suppose we settled on one crate.",
  "Let's look at the second layout.",
  "Let's see what the tests say.",
  "We'll use the result of the last run.",
  "We use SQLite.",
  "The parser uses a table instead of a tree.",
  "It is not decided.",
  "What was the decision?",
  "A decision tree is used instead of a forest.",
  "> We decided to use SQLite.",
  "```\nWe decided to use SQLite.\n```",
  "    We decided to use SQLite.",
  "[DECISION] We decided to use SQLite. - LOCKED",
  "We are going to look at it from now on to tomorrow.",
  "Let's first go with the mock.",
}

local function told(t, text, speaker, options)
  local found = {}
  for at, one in ipairs(t.hook("goals", { text = text, speaker = speaker }, options)) do
    found[at] = one.text
  end
  return found
end

--- The same in other languages, whoever says it.
local SETTLED_ABROAD = {
  "Wir haben beschlossen, SQLite für das Journal zu nehmen.",
  "Wir haben uns auf UTF-8 überall geeinigt.",
  "Ich habe mich für die blauen Fliesen entschieden.",
  "Entscheidung: der Cache liegt im Proxy.",
  "Wir nehmen Postgres statt MySQL.",
  "Nous avons décidé d'utiliser SQLite pour le journal.",
  "On a finalement choisi le deuxième plan.",
  "Hemos decidido usar SQLite para el diario.",
  "Decidimos guardar las fechas en UTC.",
  "Abbiamo deciso di usare SQLite per il diario.",
  "Decidimos manter o formato antigo.",
  "We hebben besloten om SQLite te gebruiken.",
  "Мы решили хранить время в UTC.",
  "我们决定使用数据库保存日志。",
  "ログは数据庫に保存することに決めました。",
  "로그는 SQLite에 저장하기로 결정했습니다.",
}

--- What is none there.
local OPEN_ABROAD = {
  "Haben wir beschlossen, SQLite zu nehmen?",
  "Wir haben noch nichts über den Namen entschieden.",
  "Wir haben uns noch nicht auf ein Format geeinigt.",
  "Vielleicht haben wir uns zu früh entschieden.",
  "Wir haben vorerst beschlossen, den alten Parser zu behalten.",
  "Wir haben damals beschlossen, XML zu nehmen.",
  "Wenn wir uns für SQLite entscheiden, werden die Tests langsamer.",
  "Nous n'avons pas encore décidé du nom.",
  "Si nous avons décidé cela, les tests seront plus lents.",
  "Nous avons décidé de garder l'ancien pour l'instant.",
  "Todavía no hemos decidido el nombre.",
  "Por ahora hemos decidido usar el viejo.",
  "¿Hemos decidido usar SQLite?",
  "Non abbiamo deciso il nome del file.",
  "Ainda não decidimos o nome do arquivo.",
  "We hebben nog niets over de naam besloten.",
  "Мы ещё не решили, как назвать файл.",
  "我们还没有决定用什么名字。",
  "我们决定了用什么名字吗？",
  "まだ名前を使うことに決めていません。",
  "아직 이름을 무엇으로 할지 결정하지 않았습니다.",
}

return {
  test_choices_are_settled_in_other_languages = function(t)
    for _, speaker in ipairs({ "human", "model" }) do
      for _, sentence in ipairs(SETTLED_ABROAD) do
        t.eq(#told(t, sentence, speaker), 1, sentence)
      end
      for _, sentence in ipairs(OPEN_ABROAD) do
        t.eq(told(t, sentence, speaker), {}, sentence)
      end
    end
  end,

  test_what_settles_a_choice_is_a_decision = function(t)
    for _, speaker in ipairs({ "human", "model" }) do
      for _, sentence in ipairs(SETTLED) do
        t.eq(told(t, sentence, speaker), { sentence }, sentence)
      end
    end
  end,

  test_a_person_decides_with_an_order = function(t)
    for _, sentence in ipairs(ORDERED) do
      t.eq(told(t, sentence, "human"), { sentence }, sentence)
      t.eq(told(t, sentence, "model"), {}, sentence)
    end
  end,

  test_what_is_open_passing_or_told_is_none = function(t)
    for _, speaker in ipairs({ "human", "model" }) do
      for _, sentence in ipairs(OPEN) do
        t.eq(told(t, sentence, speaker), {}, sentence)
      end
    end
  end,

  --- Each sentence of a message stands by itself, with what it is about.
  test_a_message_may_hold_several = function(t)
    local text = "Thanks for the numbers. We decided to use SQLite for the journal.\n\n"
      .. "- **Decision:** the cache lives in the proxy\n- Shall we go with YAML?\n"
      .. "Let's stick with tabs. We decided to use SQLite for the journal."
    local found = t.hook("goals", { text = text, speaker = "human" })
    t.eq(found, {
      { kind = "decision", text = "We decided to use SQLite for the journal.", state = "architecture" },
      { kind = "decision", text = "Decision: the cache lives in the proxy" },
      { kind = "decision", text = "Let's stick with tabs." },
    })
  end,

  --- The work grows with the length of a line and not with its square, or this would be out of time.
  test_a_long_line_without_an_end_is_read_once = function(t)
    local line = ("word and another "):rep(8000)
    t.eq(told(t, line, "human"), {})
    t.eq(told(t, line .. "**here**. We decided to use SQLite for the journal. " .. line, "human"), {
      "We decided to use SQLite for the journal.",
    })
  end,

  test_it_can_be_switched_off = function(t)
    t.eq(told(t, SETTLED[1], "human", { classify_decisions = false }), {})
  end,
}
