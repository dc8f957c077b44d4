--- The options that `ollm` and `staged` share, with the figures of RULES 19 to 34.
local settings = {}

---@type table<string, Option>
local SHARED = {
  compression_enabled = {
    type = "boolean",
    default = true,
    doc = "Whether anything is compressed; if not, prompts are counted, warned of and checked, and only"
      .. " what the window forces is done.",
  },
  class_strategy = {
    type = "boolean",
    default = true,
    doc = "Whether the size class chooses how hard to compress; if not, every class is compressed"
      .. " like class 3.",
  },
  sizes = {
    type = "list",
    default = {},
    doc = "The context sizes that the model offers, smallest first; classes are then places in"
      .. " this list. Where it is empty, those that the model table lists.",
  },
  checkpoint_share = {
    type = "number",
    default = 0.40,
    min = 0,
    max = 1,
    doc = "The most of the limit, less system prompt and tools, that checkpoints take.",
  },
  snapshots_auto = {
    type = "boolean",
    default = true,
    doc = "Whether a restore point is asked for before a compression where the profile makes none by"
      .. " itself.",
  },
  snapshots_threshold = {
    type = "number",
    default = 0.80,
    min = 0,
    max = 1,
    doc = "Share of the limit in use from which on it is asked for.",
  },
  model_billions = {
    type = "number",
    default = 0,
    min = 0,
    doc = "Parameters of the model in billions; 0: its name or the model table says.",
  },
  weigh_confidence = {
    type = "boolean",
    default = false,
    doc = "Whether reliability falls with the share of facts that summaries have lost.",
  },
}

--- A policy's own options and the shared ones.
---@param own table<string, Option>
---@return table<string, Option>
function settings.with(own)
  for name, option in pairs(SHARED) do
    own[name] = own[name] or option
  end
  return own
end

return settings
