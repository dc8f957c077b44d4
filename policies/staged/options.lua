--- The options of `staged`, with the figures of RULES 26 to 34. Sizes are tokens,
--- shares 0 to 1.
local settings = require("settings")

return settings.with({
  reserve = {
    type = "integer",
    default = 1000,
    min = 0,
    doc = "Tokens of the limit that are kept free for the answer.",
  },
  reserve_share = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "The same as a share of the limit, where that is less.",
  },
  inform_at = {
    type = "number",
    default = 0.70,
    min = 0,
    max = 1,
    doc = "Share of the room for conversation and checkpoints from which on a warning is given.",
  },
  ahead_at = {
    type = "number",
    default = 0.65,
    min = 0,
    max = 1,
    doc = "Share of that room from which on models are asked in advance, where they write in the background.",
  },
  compress_at = {
    type = "number",
    default = 0.75,
    min = 0,
    max = 1,
    doc = "Share of that room above which it is compressed.",
  },
  stride = {
    type = "number",
    default = 0.30,
    min = 0,
    max = 1,
    doc = "Share of that room that is to be free after a compression, up to the next: else checkpoints"
      .. " come down and merge, and then older messages of people are folded.",
  },
  emergency_to = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "Share of that room that an emergency comes down to.",
  },
  keep_messages = {
    type = "integer",
    default = 5,
    min = 1,
    doc = "How many of the newest messages stay as they are.",
  },
  preserve_users = {
    type = "integer",
    default = 15,
    min = 0,
    doc = "How many of the newest messages of people stay but in an emergency.",
  },
  moderate_above = {
    type = "integer",
    default = 2000,
    min = 0,
    doc = "Tokens to compress above which a new checkpoint is of level 2.",
  },
  compact_above = {
    type = "integer",
    default = 3000,
    min = 0,
    doc = "Tokens to compress above which it is of level 1.",
  },
  minimum_gain = {
    type = "number",
    default = 0.10,
    min = 0,
    max = 1,
    doc = "Share of the prompt that a compression must free to be worth it, and by which a prompt"
      .. " must have grown after one that did not.",
  },
  digest_share = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "The most of a tool result among the newest messages that its digest takes in an"
      .. " emergency.",
  },
  start_over_below = {
    type = "number",
    default = 0,
    min = 0,
    max = 1,
    doc = "A model whose reliability is less starts over in an emergency, with one small summary.",
  },
  system_prompt = {
    type = "boolean",
    default = true,
    doc = "Whether a system prompt is put together where it is Epitome's to make: where a"
      .. " conversation is given message by message.",
  },
  goals_teach = {
    type = "boolean",
    default = true,
    doc = "Whether it explains the markers by which the model says what changes of a goal.",
  },
  focus = {
    type = "string",
    default = "",
    doc = "What summaries dwell on in the mode `user`, in the team's own words; without any the"
      .. " text of `prompts/mode-user.md`.",
  },
  verbatim_share = {
    type = "number",
    default = 0.10,
    min = 0,
    max = 1,
    doc = "The most of the limit that old exchanges take which stay in their place for what stands"
      .. " word for word in them: code, goals or errors as the mode says, decisions in every mode.",
  },
  keep_facts = {
    type = "number",
    default = 0.50,
    min = 0,
    max = 1,
    doc = "The least share of what must be kept that a model's summary holds, with what is added"
      .. " to it; else it is not taken.",
  },
})
