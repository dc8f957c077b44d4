--- The options of `ollm`, with the figures of RULES 19 to 25. Sizes are tokens, shares 0 to 1.
local settings = require("settings")

return settings.with({
  compression_strategy = {
    type = "string",
    default = "summarize",
    one_of = { "summarize", "truncate" },
    doc = "What becomes of old exchanges: a checkpoint, or nothing.",
  },
  classify_decisions = {
    type = "boolean",
    default = true,
    doc = "Whether sentences in which a choice is settled for good are decisions, without a marker.",
  },
  reserve = {
    type = "integer",
    default = 0,
    min = 0,
    doc = "Tokens of the limit that are kept free for the answer.",
  },
  inform_at = {
    type = "number",
    default = 0.70,
    min = 0,
    max = 1,
    doc = "Share of the available room from which on a warning is given.",
  },
  ahead_at = {
    type = "number",
    default = 0.70,
    min = 0,
    max = 1,
    doc = "Share of the available room from which on models are asked in advance, where they write in the background.",
  },
  compress_at = {
    type = "number",
    default = 0.80,
    min = 0,
    max = 1,
    doc = "Share of the available room from which on the conversation is compressed.",
  },
  emergency_at = {
    type = "number",
    default = 0.95,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on it is compressed at once and by all means.",
  },
  rollover_at = {
    type = "number",
    default = 1.00,
    min = 0,
    max = 1,
    doc = "Share of the limit from which on it starts over, where nothing less is enough.",
  },
  preserve_recent = {
    type = "integer",
    default = 2048,
    min = 0,
    doc = "Tokens of the newest messages that stay as they are.",
  },
  preserve_recent_share = {
    type = "number",
    default = 0.30,
    min = 0,
    max = 1,
    doc = "The same as a share of the available room, where that is less.",
  },
  preserve_recent_large = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "The same for context sizes above 16,384, where that is more than `preserve_recent`.",
  },
  preserve_users = {
    type = "integer",
    default = 15,
    min = 0,
    doc = "How many of the newest messages of the user stay while the window can hold them.",
  },
  stride = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "Share of the room that is to be free after a compression, up to the next: else checkpoints"
      .. " come down and merge, and then older messages of the user are folded.",
  },
  fold_to = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of the available room that an emergency comes down to.",
  },
  summary_max_tokens = {
    type = "integer",
    default = 2000,
    min = 1,
    doc = "What a new checkpoint takes in a window of 8K; in proportion in larger ones, and between"
      .. " 0.30 and 0.50 of what it stands for.",
  },
  minimum_gain = {
    type = "number",
    default = 0.05,
    min = 0,
    max = 1,
    doc = "By what share a prompt must have grown before it is tried again after a compression"
      .. " that brought too little.",
  },
})
