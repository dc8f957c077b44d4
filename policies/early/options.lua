--- The options of `early`, with the figures of RULES 42 to 45. Sizes are tokens, shares 0 to
--- 1, patterns regular expressions.
---@type table<string, Option>
return {
  ahead_at = {
    type = "number",
    default = 0.40,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on models are asked in advance, where they write in the background.",
  },
  summarize_at = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on everything that is old becomes one summary.",
  },
  summarize_to = {
    type = "number",
    default = 0.35,
    min = 0,
    max = 1,
    doc = "Share of the limit that the prompt with the summary should come to, where that is"
      .. " possible.",
  },
  summary_share = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "The most of what it stands for that a summary takes.",
  },
  summary_least = {
    type = "integer",
    default = 150,
    min = 1,
    doc = "The least room that a summary gets.",
  },
  keep_messages = {
    type = "integer",
    default = 3,
    min = 0,
    doc = "How many of the latest messages stay as they are; those of one exchange together.",
  },
  protect = {
    type = "list",
    default = {
      "(?i)\\b(must|never|always|shall|require[sd]?|requirements?|constraints?|mandatory)\\b",
      "(?i)\\b(do not|don['’]t|may not|cannot|can['’]t|no more than|at (least|most)|make sure)\\b",
      "(?i)\\b(muss|müssen|darf nicht|dürfen nicht|niemals|immer|mindestens|höchstens)\\b",
      "(?i)\\b(doit|doivent|jamais|toujours|debe|deben|nunca|siempre|deve|devono|sempre)\\b",
      "(?i)(нельзя|никогда|всегда|должн|обязательн|必须|不要|不能|禁止|しないで|必ず|반드시)",
    },
    doc = "A message of the user that one of these matches states a constraint or a requirement,"
      .. " and stays.",
  },
  personas = {
    type = "list",
    default = { "(?i)^\\W*(you are|you're|act as|from now on you) " },
    doc = "A message that one of these matches tells the model who it is, and stays.",
  },
  protect_share = {
    type = "number",
    default = 0.20,
    min = 0,
    max = 1,
    doc = "The most of the limit that messages take which stay for what they state; the one that"
      .. " opens the conversation goes first, then the newest.",
  },
  trim_at = {
    type = "number",
    default = 0.80,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on messages are trimmed without a model.",
  },
  trim_to = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of the limit below which trimming ends.",
  },
  trim_share = {
    type = "number",
    default = 0.20,
    min = 0,
    max = 1,
    doc = "The most of a tool result that a digest of it takes in an emergency.",
  },
  minimum_gain = {
    type = "number",
    default = 0.10,
    min = 0,
    max = 1,
    doc = "Share of the prompt that a summary must free to be worth it, and by which a prompt must"
      .. " have grown after one that did not.",
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
  session_log = {
    type = "boolean",
    default = true,
    doc = "Whether each action is noted in `.epitome/SESSION_LOG.md` of the client's folder.",
  },
  verbosity = {
    type = "string",
    default = "normal",
    one_of = { "normal", "debug" },
    doc = "`debug` sends tool results without digests; the limits hold.",
  },
  keep_below = {
    type = "integer",
    default = 200,
    min = 0,
    doc = "A tool result of fewer tokens is kept as it is.",
  },
  keep_data_below = {
    type = "integer",
    default = 500,
    min = 0,
    doc = "The same for JSON and YAML.",
  },
  digest_most = {
    type = "integer",
    default = 1000,
    min = 1,
    doc = "The most that a digest takes.",
  },
  digest_share = {
    type = "number",
    default = 0.06,
    min = 0,
    max = 1,
    doc = "The same as a share of the limit, where that is less.",
  },
  file_lines = {
    type = "integer",
    default = 500,
    min = 0,
    doc = "A file of more lines is digested.",
  },
  query_rows = {
    type = "integer",
    default = 100,
    min = 0,
    doc = "The result of a query with more rows is digested.",
  },
  sample_rows = {
    type = "integer",
    default = 5,
    min = 1,
    doc = "How many rows its digest shows.",
  },
  search_tools = {
    type = "list",
    default = { "(?i)web.?search|search.?(web|internet)|google|duckduckgo|brave|tavily|serp|bing" },
    doc = "Tools that search the web.",
  },
  file_tools = {
    type = "list",
    default = {
      "(?i)(^|__)(read|view|cat|open|str_replace_(based_)?edit(or|_tool)|file_?(read|view))$",
      "(?i)(^|__)(read|view|open|get)_?(text_)?file(_contents?)?$",
    },
    doc = "Tools that read a file; a command that shows one (`cat FILE`) counts as well.",
  },
  query_tools = {
    type = "list",
    default = { "(?i)sql|quer(y|ies)|database|bigquery|postgres|snowflake|mongo|(^|_)db(_|$)" },
    doc = "Tools that ask a database.",
  },
  api_tools = {
    type = "list",
    default = { "(?i)http|(^|_)apis?(_|$)|fetch|request|curl|rest(_|$)|graphql|webhook|endpoint" },
    doc = "Tools that call an API.",
  },
  exempt = {
    type = "list",
    default = { "epitome recall", ".epitome/offloaded", "SESSION_LOG.md" },
    doc = "Results of calls that say one of these bring back what left or the session log, and"
      .. " stay as they are.",
  },
}
