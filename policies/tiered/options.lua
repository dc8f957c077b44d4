--- The options of `tiered`, with the figures of RULES 46 to 54. Sizes are tokens, shares 0 to
--- 1, patterns regular expressions.
---@type table<string, Option>
return {
  prepare_at = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on the level is yellow; below it is green.",
  },
  truncate_at = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of the limit above which results are offloaded and inputs truncated; the level is"
      .. " orange from there on.",
  },
  ahead_at = {
    type = "number",
    default = 0.70,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on models are asked in advance for the summary, where they"
      .. " write in the background.",
  },
  summarize_at = {
    type = "number",
    default = 0.75,
    min = 0,
    max = 1,
    doc = "Share of the limit above which a summary is made where that was not enough; the level is"
      .. " red from there on.",
  },
  handover_at = {
    type = "number",
    default = 0.85,
    min = 0,
    max = 1,
    doc = "Share of the limit above which a checkpoint is made at once and a fresh session is"
      .. " recommended; the level is critical from there on.",
  },
  summarize_to = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of the limit that the prompt comes to with a summary.",
  },
  keep_recent_share = {
    type = "number",
    default = 0.40,
    min = 0,
    max = 1,
    doc = "Share of the room beside what is pinned that the newest messages fill, as they are.",
  },
  keep_messages = {
    type = "integer",
    default = 6,
    min = 0,
    doc = "How many of the newest messages keep their results and inputs.",
  },
  intent_share = {
    type = "number",
    default = 0.10,
    min = 0,
    max = 1,
    doc = "The most of the limit that messages of people take which stay before a summary; those"
      .. " that state what the session is for go first.",
  },
  summary_share = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "The share of what it stands for that a summary gets where there is little room.",
  },
  field_tokens = {
    type = "integer",
    default = 80,
    min = 1,
    doc = "The most of the objective, and of the current request, that a summary quotes in a field.",
  },
  revised_by = {
    type = "list",
    default = {
      "(?i)^\\W*(?:actually|instead|rather|change of plan|new plan|scratch that|never ?mind|forget (?:that|it|about|what))\\b",
      "(?i)\\b(?:change of plan|changed my mind|new (?:goal|plan|objective)|(?:the )?(?:goal|plan|objective) (?:is now|has changed|changes))\\b",
      "(?i)\\b(?:instead of|rather than) (?:that|this|what|the (?:first|original|old|previous))\\b",
    },
    doc = "Patterns of a message of a person by which the objective is revised, where no goal says it.",
  },
  sections_from = {
    type = "integer",
    default = 400,
    min = 0,
    doc = "A model's summary is written in sections where it may take so many tokens; a smaller one"
      .. " in a few sentences.",
  },
  summary_least = {
    type = "integer",
    default = 150,
    min = 1,
    doc = "The least room that a summary gets.",
  },
  artifacts = {
    type = "integer",
    default = 50,
    min = 0,
    doc = "How many of the files that were written last a summary lists.",
  },
  retry_after = {
    type = "number",
    default = 0.05,
    min = 0,
    max = 1,
    doc = "Share of the limit by which the prompt must have grown before the first two stages are"
      .. " tried again.",
  },
  minimum_gain = {
    type = "number",
    default = 0.05,
    min = 0,
    max = 1,
    doc = "Share by which the prompt must have grown after a summary that brought too little.",
  },
  reserve = {
    type = "integer",
    default = 1000,
    min = 0,
    doc = "Tokens of the limit that are kept free for the answer.",
  },
  reserve_share = {
    type = "number",
    default = 0.125,
    min = 0,
    max = 1,
    doc = "The same as a share of the limit, where that is less.",
  },
  offload_above = {
    type = "integer",
    default = 15000,
    min = 1,
    doc = "A tool result of more tokens is offloaded on arrival.",
  },
  offload_share = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "The same as a share of the limit, where that is less.",
  },
  preview_lines = {
    type = "integer",
    default = 10,
    min = 0,
    doc = "How many of its first lines a reference shows.",
  },
  preview_chars = {
    type = "integer",
    default = 500,
    min = 0,
    doc = "How many characters these have at most.",
  },
  failures = {
    type = "list",
    default = {
      [[\b(ERROR|FATAL|FAILED|FAILURE|PANIC|CRITICAL)\b]],
      [[^\s*(\S+:\d+(:\d+)?:\s*)?(?i:fatal|error|panic|exception)(\[\w+\])?:\s]],
      [[^\s*(Traceback \(most recent|thread '.*' panicked|[\w.]*(Error|Exception): )]],
    },
    doc = "A line that one of these matches tells of a failure; a reference quotes it.",
  },
  failure_lines = {
    type = "integer",
    default = 5,
    min = 0,
    doc = "How many of them it quotes; a result with more stays whole while there is room.",
  },
  truncate_above = {
    type = "integer",
    default = 200,
    min = 1,
    doc = "The arguments of a call that wrote or edited a file are truncated where they take more"
      .. " tokens.",
  },
  drift_messages = {
    type = "integer",
    default = 24,
    min = 0,
    doc = "How many messages after a summary are held against the session's intent, those not counted"
      .. " that only say to go on; 0: none.",
  },
  drift_actions = {
    type = "integer",
    default = 3,
    min = 1,
    doc = "How many actions in a row that nothing in the conversation explains are drift.",
  },
  drift_repeats = {
    type = "integer",
    default = 5,
    min = 2,
    doc = "How often calls are made again with the same result, while nothing new is found, before that"
      .. " is no progress; the first time counts.",
  },
  drift_excerpts = {
    type = "integer",
    default = 500,
    min = 1,
    doc = "The most that is brought back of what was said, in tokens.",
  },
  ask_drift = {
    type = "boolean",
    default = false,
    doc = "Whether a model confirms what looks like drift, where the profile has one.",
  },
  write_tools = {
    type = "list",
    default = { "(?i)write|edit|create|replace|patch|insert|append" },
    doc = "Tools that write or edit files, by their names.",
  },
  finished = {
    type = "list",
    default = {
      "(?i)\\b(done|finished|completed?|all set|fertig|erledigt|abgeschlossen)\\b",
      "(?i)\\b(terminée?|fini|achevé|hecho|terminado|completado|listo|concluído|pronto|fatto)\\b",
      "(?i)(готово|завершен|выполнен|完成|完了|終わりました|완료)",
    },
    doc = "A message of the model that one of these matches says that the work is done.",
  },
  asks_for_work = {
    type = "list",
    default = {
      "(?i)\\bwhat (would|do) you (like|want|need) me to\\b|\\bwhat (should|shall|can|do) I (do|work|help|go|start|continue|build|write)\\b",
      "(?i)\\bhow (can|may) I (help|assist)\\b|\\bwhat (is|was) (the|my|your) (task|goal|objective)\\b",
      "(?i)\\b(?:please )?(?:tell|let) me (?:know )?what (?:you (?:need|want|would like)|(?:I|to) (?:am to |should )?(?:do|work))\\b",
      "(?i)\\b(?:remind|tell|clarify|explain)\\b[^.?!\\n]{0,40}\\bwhat\\b[^.?!\\n]{0,30}\\bI\\b[^.?!\\n]{0,30}\\b(?:do|work)\\b",
      "(?i)\\b(?:remind|tell|clarify|explain)\\b[^.?!\\n]{0,60}\\b(?:what|which)\\b[^.?!\\n]{0,40}\\b(?:task|goal|objective)\\b",
      "(?i)\\bremind me\\b[^.?!\\n]{0,40}\\b(?:task|goal|job|objective|asked|supposed|request|working)\\b",
      "(?i)\\b(was|womit|woran) (?:genau )?soll ich\\b|\\bque (dois-je|voulez-vous que je)\\b|\\bqué (debo|quieres que)\\b",
      "(?i)что (мне|я должен) (делать|сделать)|何をすれば|我该做什么|需要我做什么|무엇을 (할까요|도와)",
    },
    doc = "A question of the model that one of these matches asks what it is there for.",
  },
  repeats_by = {
    type = "list",
    default = {
      "(?i)\\b(?:every|each) (?:time|few|other|\\d+|second|minute|hour|day|run|round)\\b|\\b\\d+ times\\b|\\b(?:again and again|repeatedly|in a loop)\\b",
      "(?im)(?:^|[.!?;:,]|\\b(?:and|then|please|to|you|just|keep)\\b)\\s*(?:watch|monitor|poll)(?:ing)?\\b|\\b(?:wait|keep \\w+ing|retry|rerun) (?:for|until|till)\\b",
      "(?i)\\b(?:jede|alle) (?:\\d+ )?(?:sekunden?|minuten?|stunden?)\\b|\\b\\d+ ?mal\\b|\\bimmer wieder\\b|\\btoutes les\\b|\\b\\d+ fois\\b|\\bcada\\b|\\b\\d+ veces\\b",
    },
    doc = "An intent that one of these matches orders that something is done again and again: doing so is"
      .. " no drift.",
  },
  ordered_by = {
    type = "list",
    default = {
      "(?i)\\b(?:in|into|to|as|add|write|create|produce|generate|update)",
      "(?i)\\b(?:nach|als|schreibe|erstelle|dans|crée|écris|en|crea|escribe)",
    },
    doc = "A file whose name stands right behind one of these is asked for.",
  },
  exempt = {
    type = "list",
    default = {
      "epitome recall", ".epitome/", "mcp__epitome__", "epitome_recall",
    },
    doc = "Results of calls that say one of these bring back what left, and stay as they are.",
  },
}
