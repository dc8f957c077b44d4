--- The options of `watermark`. Sizes are tokens, shares 0 to 1. What goes beyond RULES 35 and 36
--- is off.
---@type table<string, Option>
return {
  tools = {
    type = "list",
    default = { "deactivate_augments", "compress_to_checkpoint" },
    doc = "Tools whose call is a mark, also behind the prefix of an MCP server (`mcp__x__`).",
  },
  mark_on_activate = {
    type = "boolean",
    default = false,
    doc = "Whether a call of `activate_augments` is a mark, too.",
  },
  keep_exchanges = {
    type = "integer",
    default = 0,
    min = 0,
    doc = "The last so many tool exchanges before the mark stay whole.",
  },
  anchors = {
    type = "list",
    default = {},
    doc = "Regular expressions; tool exchanges stay whole where one matches a tool's name or what"
      .. " is said.",
  },
  anchor_word = {
    type = "string",
    default = "[ANCHOR]",
    doc = "What the model writes beside a call whose exchange stays whole; an empty text turns"
      .. " that off.",
  },
  slice = {
    type = "boolean",
    default = false,
    doc = "Whether the talk before the mark goes, too, but for the message that opens it.",
  },
  auto_mark_tokens = {
    type = "integer",
    default = 0,
    min = 0,
    doc = "A mark is set when the conversation has grown by so many tokens since the last one; 0"
      .. " for none.",
  },
  auto_mark_messages = {
    type = "integer",
    default = 0,
    min = 0,
    doc = "A mark is set when so many messages were added since the last one; 0 for none.",
  },
  boundaries = {
    type = "list",
    default = {},
    doc = "Regular expressions; what a person says that one matches begins a new task, which is a"
      .. " mark.",
  },
  ask_boundary = {
    type = "boolean",
    default = false,
    doc = "Whether a model is asked if a new task begins, for all that no pattern matches.",
  },
  keep_results = {
    type = "boolean",
    default = true,
    doc = "Whether tool results are sent as they are until a mark takes them out; if not, large"
      .. " ones are made smaller before they are first sent.",
  },
  keep_at_most = {
    type = "number",
    default = 0.25,
    min = 0,
    max = 1,
    doc = "Share of the room for what can shrink that the newest messages fill where the window"
      .. " forces more than a mark.",
  },
}
