---@meta epitome
-- Types of policies, for editors. Generated: `UPDATE=1 cargo test -p epitome-lua`.

--- What `policy.lua` returns.
---@class Policy
---@field name? string Its name, that of its folder.
---@field doc? string What it does, in a sentence.
---@field extends? string The policy that is asked where this one has no opinion.
---@field options? table<string, Option>|'default' What can be set without writing Lua; `"default"`: the options of the built-in policy.
---@field budgets? fun(job: BudgetsJob): Budgets|Asking|nil How large the prompt may grow.
---@field tool_result? fun(job: ToolResultJob): ToolResultAnswer|Asking|nil What becomes of a tool result before it is first sent.
---@field observe? fun(job: ObserveJob): Observe|Asking|nil What is done about a new message.
---@field goals? fun(job: GoalsJob): Found[]|Asking|nil What a text says of goals. What the policies say is joined.
---@field facts? fun(job: FactsJob): string[]|Asking|nil Which lines stay word for word, whatever leaves. What the policies say is joined.
---@field trigger? fun(job: TriggerJob): boolean|Passed|Due|Asking|nil Whether to compress now.
---@field plan? fun(job: PlanJob): Orders|Asking|nil What to do about a prompt that is compressed.
---@field age? fun(job: AgeJob): Ageing[]|Asking|nil Which checkpoints are written anew, smaller, in the same compression.
---@field summary_prompt? fun(job: SummaryPromptJob): SummaryPrompt|Asking|nil How a model is asked for a summary.
---@field verify? fun(job: VerifyJob): boolean|Rejected|Seconded|Asking|nil Whether a model's summary is good enough.
---@field render? fun(job: RenderJob): Render|Asking|nil How a text that Epitome writes into the prompt is worded.
---@field status? fun(job: StatusJob): Status|Asking|nil How far the conversation can be relied on.
---@field recall? fun(job: RecallJob): RecallOrder|Asking|nil In which order what a search found is brought back.
---@field on_event? fun(job: EventJob): Noted|Asking|nil Takes note of something that happened. It reaches every policy.

--- Asks a model before the hook answers.
---@class Asking
---@field ask Ask What it is asked.

--- A call of a tool.
---@class Action
---@field tool string The tool.
---@field arguments string The arguments, as JSON text.

--- Which checkpoints to write anew, smaller, in the compression that was just planned.
---@class AgeJob: Common
---@field checkpoints Standing[] The checkpoints as the plan leaves them, oldest first; ages count this compression.
---@field budgets Budgets What `budgets` answered.

--- Writes a checkpoint anew, smaller.
---@class AgeOrder
---@field checkpoint string Its id.
---@field to integer Its new level: 2, 1, or 0 for merged.
---@field target integer The most that it may take then.

--- A checkpoint that is written anew, smaller.
---@class Ageing
---@field checkpoint string Its id.
---@field to integer Its new level: 2, 1, or 0 for merged.
---@field target integer The most that it may take then.

--- A message, or the part of one that is a tool's result.
---@class Arriving
---@field id integer Its place in the history.
---@field role "system"|"user"|"assistant"|"tool" Its role: `system`, `user`, `assistant` or `tool`.
---@field speaker "human"|"model"|"tool"|"harness" Who produced it: `human`, `model`, `tool` or `harness`.
---@field tool? string The tool that was called, where it is a result.
---@field args? string The arguments of that call, as JSON text.
---@field tokens integer Its size.
---@field lines integer How many lines it has.
---@field error boolean Whether the tool reported an error.
---@field text fun(self: Arriving): string What the message says.
---@field head fun(self: Arriving, lines: integer): string Its first lines.

--- A file that a goal touched.
---@class Artifact
---@field path string Its path, as it was named.
---@field kind "test"|"documentation"|"file" What it is, by its path.
---@field change "created"|"modified"|"deleted" What became of it last.
---@field at string When, ISO 8601.

--- Asks a model first; then the hook is asked again, with `job.replies[id]`.
---@class Ask
---@field id string The name of the reply in `job.replies`.
---@field system? string The system prompt.
---@field user string The question.
---@field max_tokens? integer The most tokens of the reply.

--- Bounds of the prompt. All of them are sizes of the whole prompt but for `reserve`, `checkpoints` and `keep_recent`.
---@class Budgets
---@field warn? integer From here on a warning is given.
---@field ahead? integer From here on models are asked in advance for the summaries of the next compression, where they write in the background.
---@field soft? integer From here on a compression is considered.
---@field hard? integer More than this is not sent, but where a compression would cost more than it saves and the conversation fits as it came.
---@field target? integer What a compression shrinks to; no more than `soft`.
---@field reserve? integer Kept free of the limit for the answer.
---@field checkpoints? integer The most that checkpoints may take together.
---@field keep_recent? integer The size of the newest messages that stay as they are.
---@field system? integer The most that a system prompt of Epitome's own may take.
---@field class? integer The size class; later jobs carry it.
---@field strategy? string What the class is called.

--- How large the prompt may grow.
---@class BudgetsJob: Common

--- What the provider's cache makes of a rewrite, in the price of a token that is not cached.
---@class Cache
---@field warm boolean Whether the provider has a prefix of the prompt to read.
---@field read number What a token costs that is read from the cache, by the model and the API; nothing on a server of one's own.
---@field write number What a token costs that is written to it.
---@field rewrite_cost number What a rewrite to the target costs over reading the prompt once more.
---@field saving_per_turn number What a prompt of the target's size would save with each request.
---@field forgone_cost number What has been forgone since the last compression, this request included.

--- Takes tool calls and their results out; what else the messages say stays, word for word. A message that says nothing else leaves whole. Exchanges that are pinned or cannot be touched stay as they are, and so does what left already.
---@class ClearToolsOp
---@field entries integer[] The messages; each stands for its whole exchange.

--- The messages of a history, a list for each property. `job.entries:text(i)` and `job.entries:head(i, n)` read what a message says.
---@class Columns
---@field count integer How many messages there are.
---@field role ("system"|"user"|"assistant"|"tool")[] Their roles.
---@field speaker ("human"|"model"|"tool"|"harness")[] Who produced them; what a person typed counts before what stands beside it.
---@field tokens integer[] Their sizes, as they were said.
---@field sent integer[] Their sizes, as they are sent in their own place: 0 for those that left the prompt.
---@field exchange integer[] Numbers of the exchanges they belong to: a call and its results share one, and go or stay together.
---@field pinned boolean[] Whether nothing may touch them.
---@field tools boolean[] Whether they call tools or answer a call.
---@field names string[][] The tools that they call or answer, in order.
---@field key string[] What they are known by, whatever their place: the same text in every history.
---@field checkpoint integer[] Places in `checkpoints` of those that stand for them, 0 where none does.
---@field inputs Input[][] Those of their calls that write or edit files.
---@field text fun(self: Columns, place: integer): string? What the message in a place says.
---@field head fun(self: Columns, place: integer, lines: integer): string? Its first lines.

--- What every job says.
---@class Common
---@field session string The session's name; a label.
---@field mode? string The mode that was asked for (`developer`, `planning`, ...).
---@field class? integer The size class, as `budgets` answered it.
---@field model ModelFacts The model that the request is for.
---@field tokens Tokens The prompt as it would be sent.
---@field compressions integer Compressions of this history that are in force.
---@field confidence number The share of must-keep facts that is still in the prompt, 0 to 1.
---@field now string When the request came, ISO 8601.
---@field messages integer Messages of the history.
---@field turns integer How many of the messages a person typed.
---@field api? string The API that the conversation goes over: `anthropic`, `openai`, `responses`, `ollama`, or the format of a file.
---@field client? string The program that sends the conversation, as it names itself to the proxy: `claude-cli`.
---@field models string[] The models that may be asked, in their order; empty where there is none.
---@field workspace boolean Whether files can be written in the client's folder: only then may a text name one.
---@field seed integer A number that is the same for the same history: what to draw lots with.
---@field replies table<string, string> What a model answered to an `ask`, by its id.
---@field options table<string, any> This policy's options.
---@field memo table<string, any> This policy's notes on the session: what is in it when the hook answers is there the next time.

--- The messages that leave, or may leave, a list for each property. `job.covered:text(i)` and `job.covered:head(i, n)` read what a message says.
---@class Covered
---@field count integer How many messages there are.
---@field role ("system"|"user"|"assistant"|"tool")[] Their roles.
---@field speaker ("human"|"model"|"tool"|"harness")[] Who produced them; what a person typed counts before what stands beside it.
---@field names string[][] The tools that they call or answer, in order.
---@field text fun(self: Covered, place: integer): string? What the message in a place of these lists says.
---@field head fun(self: Covered, place: integer, lines: integer): string? Its first lines.

--- Something that was decided.
---@class Decision
---@field text string What.
---@field rationale? string Why.
---@field locked boolean Whether nothing may change it any longer.
---@field kind "plain"|"architecture" What it is about.
---@field at string When it was made, ISO 8601.

--- What was done to make the prompt smaller.
---@class Done
---@field offloaded Savings Tool results that were put into the store on arrival.
---@field truncated Savings Calls whose arguments were truncated.
---@field digested Savings Tool results that were digested on arrival.
---@field summaries Savings Summaries that were made.

--- An agent that does something else than it is there for.
---@class Drift
---@field trigger string What shows it.
---@field intent string What the conversation is for.
---@field action string What was done.

--- Takes messages out without a substitute. What they say can be recalled.
---@class Drop
---@field entries integer[] The messages, oldest first; whole exchanges, none of them pinned.

--- A compression that is due.
---@class Due
---@field level "soft"|"hard"|"asked" How urgent it is.
---@field target? integer The size to come to; that of `budgets` where none is given.
---@field reason? string Why, in a few words for people.

--- Something that happened.
---@class EventJob: Common
---@field event any The event: its name in `event`, and what belongs to it.

--- Something that a summary should keep.
---@class Fact
---@field text string The text.
---@field found boolean Whether the summary holds it.
---@field extracted boolean Whether the summary would hold it that is written in the same room without a model.
---@field tokens integer What it takes in a list, in tokens.

--- What may leave the prompt.
---@class FactsJob: Common
---@field covered Covered The messages that may leave: all of a conversation that is compressed, or tool results that are made smaller before they are first sent.

--- Comes to a size in the kernel's own way: the newest messages stay, one checkpoint stands for what is older. Stands alone, beside `pin`, `warn`, `write_file` and `handover`. `also` has `replace`, `drop`, `clear_tools` and `insert` done in the same plan, to messages that stay; those of them that leave are passed over, and what is freed is room for more of the newest.
---@class Fit
---@field max_tokens? integer The size to come to; the job's target where none is given.
---@field keep_recent_share? number The share of the room beside what is pinned that the newest messages fill, 0 to 1.
---@field keep_recent_messages? integer How many of the newest messages stay, in place of a share.
---@field keep? integer[] Messages that stay whole in this plan, as if they were pinned: at most a quarter of the limit, the newest first.
---@field also? FitOp[] What else is done, to messages that stay: what it frees is room for more of them.

--- Something that a text says of a goal.
---@class Found
---@field kind "goal"|"milestone"|"decision"|"artifact"|"next" What it is about.
---@field text string What it says.
---@field state? string In which state it is.

--- A goal.
---@class Goal
---@field id string Its id: `g1`, `g2`, ...
---@field text string What is to be reached, as it was worded last.
---@field objective string What was to be reached when the goal was set.
---@field revisions Revision[] How it was worded since, oldest first.
---@field priority "high"|"medium"|"low" How much it matters.
---@field status "active"|"paused"|"completed" Whether it is worked at.
---@field created string When it was set, ISO 8601.
---@field changed string When anything of it changed last, ISO 8601.
---@field milestones Milestone[] The steps on the way, in the order in which they were first named.
---@field decisions Decision[] What was decided, oldest first.
---@field artifacts Artifact[] The files that it touched, in the order in which they were first named.
---@field next string[] What is to be done next; what was named last stands last.

--- All goals of a session, and what was decided outside of them.
---@class Goals
---@field goals Goal[] The goals, in the order in which they were set; at most one is active.
---@field decisions Decision[] What was decided while no goal was active.

--- A text that may state goals.
---@class GoalsJob: Common
---@field speaker "human"|"model"|"tool"|"harness" Who says it: `human` or `model`.
---@field text string The text; calls of tools and what they return are none.
---@field goals Goals The goals so far.

--- Recommends a fresh session to the host.
---@class Handover
---@field text? string What that starts from; the newest checkpoint where nothing is given.

--- A call that writes or edits a file.
---@class Input
---@field call integer Which of the message's calls it is, counted from 1.
---@field tool string The tool.
---@field path string The file, as the call spells it; the first where it names several.
---@field tokens integer The size of its arguments as they are sent.
---@field persisted boolean Whether what it wrote is on disk as it was written.
---@field ok boolean Whether its result is there and is no error.

--- Puts a new message behind another, with which it leaves.
---@class Insert
---@field after integer The message that it follows; the last of its exchange. 0 where it comes first.
---@field role "user"|"assistant" `user` or `assistant`.
---@field text string What it says.

--- An augment that is active.
---@class Loaded
---@field name string Its name: `group/name`.
---@field title string Its title.
---@field text string What it says.

--- What there is to make a system prompt of.
---@class Makings
---@field instructions? string What the host says in its own system prompt: the team's instructions. What no part says of it is put behind them.
---@field goal string The goal that is worked at and what was decided, in a few lines; empty where there is nothing of the kind.
---@field augments Loaded[] The augments that are active.
---@field tools string[] The names of the tools that the request offers.

--- Makes one checkpoint of several.
---@class Merge
---@field checkpoints string[] Their ids.
---@field target integer The most that it may take.
---@field to? integer Its level: 0 unless told otherwise.

--- A step on the way to a goal: what markers call a checkpoint.
---@class Milestone
---@field text string What is to be done.
---@field state "pending"|"in_progress"|"completed" How far it is.
---@field at string Since when, ISO 8601.

--- A model and its window.
---@class ModelFacts
---@field name? string Its name, where the request gives one.
---@field size? integer The context size that was chosen, in tokens, where one was.
---@field limit integer The largest prompt that its provider accepts, in tokens.
---@field stated boolean Whether somebody stated that; a guess is aimed at and never enforced.
---@field sizes integer[] The context sizes that it is offered in, the smallest first, where the model table lists any.
---@field billions? number Its parameters in billions, where the model table says so.

--- What is done about an event, beside that it is noted.
---@class Noted
---@field write_file? WriteFile A file that is written in the client's folder, where there is one.

--- What is done about a new message.
---@class Observe
---@field warn? string A warning for the host.
---@field level? "soft"|"gate"|"hard" How far the warning, or the drift, stops the conversation: `soft` unless told otherwise.
---@field drift? Drift The agent does something else than it is there for; the host is told.
---@field recall? string What to search all that was said and offloaded for: what is found is brought back into the conversation, marked as excerpts.
---@field max_tokens? integer The most that is brought back, in tokens: 500 unless told otherwise.
---@field pin? boolean Whether nothing may touch the message from now on, a compression of this turn included.
---@field report? boolean Whether the host is told the report that `status` writes.

--- A message that is new.
---@class ObserveJob: Common
---@field entry Arriving The message; `job.entry:text()` and `job.entry:head(n)` read it.
---@field actions Action[] The tools that it calls, in order.
---@field intent? string What the conversation is for: the goal that is worked at, else what a person typed last before it.
---@field typed? string What a person typed last before it.
---@field since_compaction integer Messages since the last compression.

--- An option of a policy, set by `[profile.NAME.options.POLICY]`.
---@class Option
---@field type "integer"|"number"|"boolean"|"string"|"list" The type of its value.
---@field default boolean|number|string|any[] Its value where none is set.
---@field min? number The least.
---@field max? number The most.
---@field one_of? any[] The only values that it may have.
---@field doc? string What it does.

--- What is done about a prompt.
---@class Orders
---@field ops Order[] The operations; no message is touched by two of them. None where there is nothing to compress: then nobody else is asked.
---@field snapshot? boolean Whether a restore point is made first where the profile makes none by itself.
---@field reason? string Why, in a few words for people.
---@field watermark? integer The message that holds the watermark from now on; it only moves forward.
---@field watermark_tool? string The tool whose call that is; none where it was set without one.

--- A compression that would be due, and is not made.
---@class Passed
---@field skip "not_needed"|"nothing_to_compress"|"not_smaller"|"stalled"|"not_worth"|"disabled" Why not; the host is told.

--- Something that made the prompt smaller.
---@class Past
---@field at string When, ISO 8601.
---@field what "compression"|"offload"|"digest"|"truncation" What.
---@field saved integer Tokens saved.

--- Keeps messages from being touched from now on, by this very plan too. What left the prompt before is not brought back, and a warning says so.
---@class PinOrder
---@field entries integer[] The messages.

--- What to do about a prompt that is compressed.
---@class PlanJob: Common
---@field entries Columns The messages.
---@field checkpoints Standing[] The checkpoints in the prompt, oldest first.
---@field target integer The size to come to.
---@field max_tokens integer The size that must not be exceeded.
---@field floor integer What cannot shrink.
---@field budgets Budgets What `budgets` answered.
---@field cause "soft"|"hard"|"manual" Why it is made.
---@field watermark? integer The message that holds the recorded watermark, where it is in this history.
---@field watermark_lost boolean Whether a watermark is recorded that is not in this history.

--- How a conversation is played.
---@class PlaySettings
---@field prompt_limit? integer The largest prompt that the provider accepts, in tokens. Without it and `context_size` it is what the profile states, or else so little that the conversation must be compressed.
---@field context_size? integer The context size that is chosen, in tokens.
---@field mode? string The mode that policies are told of.
---@field options? table<string, any> Options of this policy, by name.
---@field keep? string[] Patterns of what must stay, as `keep` of a profile has them.

--- What came of a conversation that was played.
---@class PlayedConversation
---@field turns integer Requests.
---@field compressions integer Compressions.
---@field cost number What the prompts cost, as a share of what those of the profile `none` cost in the same window, where a prompt is made smaller only when it no longer fits.
---@field limit integer The limit that the last request was held to.
---@field largest integer The largest prompt; no more than `limit` unless that was guessed.
---@field kept number The share of the facts that must be kept which the last prompt still holds, 0 to 1.
---@field lost string[] The facts that it holds no longer, those that `keep` names and what people ordered first.
---@field discarded string[] Plans that were not made, so that a policy behind decided: `turn 7: why`.
---@field errors string[] Hooks that failed, and requests that could not be sent: `turn 7: why`.
---@field bounded string[] Answers that were held to a bound: `turn 7: which`.
---@field asked integer Questions that models were asked.
---@field prompt string The last prompt, as it was sent.

--- What a search found, before what has no room is left out: for a person or a model that recalls, or for a policy that has something brought back.
---@class RecallJob: Common
---@field query string What was looked for.
---@field passages RecallPassage[] The passages that answer, in the order in which they are brought back unless told otherwise; more than there is room for.
---@field max_tokens integer The most that is brought back.

--- In which order passages are brought back, and which are not.
---@class RecallOrder
---@field order? integer[] The places of passages in `job.passages`, the first to be brought back first, each once. Those that are not named come behind them, in the order in which they stand there.
---@field leave_out? integer[] The places of those that are not brought back. One must be left.

--- A passage that answers a search.
---@class RecallPassage
---@field text string What it says.
---@field tokens integer Its size.
---@field score number How well it answers by itself: 1 is as well as the best by its own words.
---@field age integer How many of the passages that were searched were said after it.
---@field session? string The session that said it, where it is of one.
---@field place string Its message, as recall names it: `e4`.
---@field role string The role of whoever said it: `user`, `assistant`, `system` or `tool`.
---@field tool? string The tool, where it is of a result.
---@field through? string The name in what was found first that led to it, where it does not answer by itself.

--- A summary that is not taken.
---@class Rejected
---@field reject string Why not.

--- The wording of a text that Epitome writes into the prompt. `{id}`, `{messages}`, `{lines}`, `{tokens}` and `{call}` are filled in.
---@class Render
---@field text? string The text; Epitome's own where nothing is said.
---@field short? string Of `checkpoint`: what it begins with in little room; `text` there too unless told otherwise.
---@field share? number Of `checkpoint`: the most of its room that `text` may take, 0 to 1; beyond that stands `short`. `label_share` of the profile unless told otherwise.
---@field place? "front" Of `checkpoint`: where they stand; each where the last message stood that it stands for unless told otherwise.
---@field role? "user"|"assistant" Of `checkpoint`: who says them. The provider's rules come first: where they take no message of the assistant, it is the user, as where nothing is said.
---@field parts? Section[] Of `system`: what it says, in this order, an empty line between two. It is asked for where a conversation is given message by message and stays as it is until the next compression. The host is warned of a part beyond what `budgets` allows as `system`.

--- How a text that Epitome writes into the prompt is worded.
---@class RenderJob: Common
---@field part "checkpoint"|"reference"|"placeholder"|"state"|"system" Which.
---@field system? Makings Of `system`: what there is to make it of.
---@field time? string The time that a text may state, ISO 8601: when the newest message came or, of a recording, when it was said. A recording that tells no times has none, so that its texts are always the same.
---@field in_store boolean Whether the original can be found again; if not, no way back may be named.
---@field in_files boolean Whether it is also a file that the client's own tools open: `.epitome/offloaded/{id}.md`.

--- Puts a shorter text in the place of what a message, a tool result in it, or a call's arguments say.
---@class Replace
---@field entry integer The message.
---@field how "digest"|"offload"|"mask"|"cut"|"truncate_input" In which way it is shorter: `digest`, `offload`, `mask`, `cut` or `truncate_input`.
---@field text? string The new text; without one Epitome makes it, no larger than `target`. Of arguments it stands in the place of the longest text among them, must be given, and has `{id}` and `{tokens}` filled in: the original's. Arguments that it would not make smaller stay.
---@field target? integer The most that it may take.
---@field call? integer With `truncate_input`: which of the message's calls, counted from 1; the first unless told otherwise.

--- A new wording of a goal.
---@class Revision
---@field text string The wording.
---@field at string When it was made, ISO 8601.

--- Starts over: one checkpoint stands for everything that is not pinned.
---@class Rollover
---@field target integer The most that it may take.

--- What something came to.
---@class Savings
---@field count integer How often it was done.
---@field saved integer Tokens saved by it, together.

--- A summary that is taken, with something added to it.
---@class Seconded
---@field append? string What is added at its end, below `missing_facts_heading` of the profile: by that it is told from what the model wrote, and holds of this summary alone.
---@field confidence? number How far it can be relied on, 0 to 1.

--- A part of a system prompt.
---@class Section
---@field name string What it is called where the host is told of it.
---@field text string What it says; a part that says nothing is left out.

--- A checkpoint in the prompt.
---@class Standing
---@field id string Its id.
---@field level integer How detailed it is: 3, 2, 1, and 0 for merged.
---@field number integer The number of the compression that made it.
---@field age integer How many compressions were made since.
---@field tokens integer Its size.
---@field original integer The size of what it stands for.
---@field covers integer How many messages it stands for.
---@field created string When it was made, ISO 8601.
---@field rewritten integer How often it was written anew since.

--- How far the conversation can be relied on.
---@class Status
---@field level? string In a word.
---@field low? boolean Whether it can hardly be relied on any longer; the host is told when that begins.
---@field score? number As a share, 0 to 1.
---@field text? string The status line.
---@field advice? string What the user should do.
---@field report? string A longer text for the user, as Markdown.

--- How far the conversation can be relied on.
---@class StatusJob: Common
---@field used number The share of the limit that is in use.
---@field budgets Budgets What `budgets` answered.
---@field report boolean Whether somebody wants to read a report; else none is worth its making.
---@field history Past[] What made the prompt smaller, the newest 50 in order; where a report is wanted.
---@field done Done What that came to in all; where a report is wanted.

--- Puts one new checkpoint in the place of messages.
---@class Summarize
---@field entries integer[] The messages, oldest first; whole exchanges, none of them pinned.
---@field target integer The most that the summary may take.
---@field level? integer How detailed it is: 3 unless told otherwise.

--- Puts a checkpoint in the place of messages of the user.
---@class SummarizeUserOp
---@field entries integer[] The messages, oldest first.
---@field target integer The most that the summary may take.

--- The request to a model for a summary. `{conversation}` stands for the messages (with `extend` for words that say which they are), `{must_keep}` for the facts, and `{goals}` for the goals that there are.
---@class SummaryPrompt
---@field style "extend"|"separate"|"none" How it is asked.
---@field model? string Which of `job.models` is asked before the others; the first unless told otherwise.
---@field system? string The system prompt.
---@field user string What it is asked.
---@field max_tokens? integer The most that it may answer.
---@field sections? string[] Headings that the answer must have.
---@field beside? string Opens what the extractor says beside the summary, so that all tells of every order, fact and weighty name that an extract of the same size would; what tells least of the summary leaves for it. With nothing here nothing is added.
---@field rest? string Opens what the extractor says in the room that the summary leaves, whatever a policy adds to it included. Nothing of the summary leaves for it; with nothing here the room stays empty.

--- How a model is asked for a summary.
---@class SummaryPromptJob: Common
---@field op "summarize"|"age"|"merge"|"summarize_user" What for.
---@field level? integer How detailed it will be: 3, 2, 1, and 0 for merged.
---@field covered Covered The messages that it stands for.
---@field must_keep string[] What must not be lost.
---@field goals Goals What the conversation is for, and what was decided: the prompt states them already.
---@field focus? string What it dwells on, in the words of the profile for this mode, where that has any.
---@field max_tokens integer The most that the summary may take.

--- Tokens of a prompt.
---@class Tokens
---@field total integer The whole.
---@field system integer The system prompt.
---@field tools integer The tool schemas.
---@field checkpoints integer Checkpoints.
---@field conversation integer All the rest.

--- What becomes of a tool result before it is first sent. The original is always kept.
---@class ToolResultAnswer
---@field how "keep"|"digest"|"offload"|"mask" In which way it is made smaller.
---@field text? string The text that takes its place; without one Epitome makes it. `{id}`, `{tokens}` and `{lines}` of the original are filled in, `{saved}`, the tokens that it saves, and `{file}`, the job's `file`, where there is one. A text that names neither id nor file gets a line behind it that does, unless it is a mask.
---@field max_tokens? integer The most that a digest or a preview may take.

--- A tool result that was never sent before. It is asked about once.
---@class ToolResultJob: Common
---@field entry Arriving The result; `job.entry:text()` and `job.entry:head(n)` read it.
---@field original string The id by which the result can be recalled.
---@field file? string The file that holds the result where the answer names it; none where there is no workspace.

--- Whether to compress now.
---@class TriggerJob: Common
---@field cause "turn"|"manual"|"overflow"|"idle" Why it is asked: `turn`, a request came; `manual`, the user asked for a compression; `overflow`, the provider refused the prompt as too long; `idle`, a request came after a rest so long that the provider has forgotten the prompt before it, so that rewriting it costs nothing now.
---@field new_model_message boolean Whether the request brings a whole message of the model that the last one did not.
---@field floor integer What cannot shrink: system prompt, tools, pinned messages.
---@field budgets Budgets What `budgets` answered.
---@field cache Cache What it would cost.
---@field stalled_at? integer The size at which a compression brought too little, until one brings enough.
---@field new_results string[] The tools whose results this request brings for the first time.
---@field requested_by? string Who asked for a compression since the last request: a tool's name, or `user`.
---@field recall_pending boolean Whether excerpts that a policy had brought back wait: the prompt is not Epitome's to add notes to, and no result of a tool is new that they could stand behind.
---@field watermark? integer The message that holds the recorded watermark, where it is in this history.

--- Whether a model's summary is good enough.
---@class VerifyJob: Common
---@field op "summarize"|"age"|"merge"|"summarize_user" What for.
---@field level? integer How detailed it is: 3, 2, 1, and 0 for merged.
---@field covered Covered The messages that it stands for.
---@field candidate string The summary.
---@field must_keep Fact[] What should be in it.
---@field tokens integer Its size.
---@field max_tokens integer The most that it may take, with what is added to it.

--- Tells the host something.
---@class Warn
---@field text string What.

--- Writes a file under `.epitome/` of the client's folder before the plan is applied. Without a folder, or where it cannot be written, the host is told and the plan is made all the same.
---@class WriteFile
---@field name string The file's name, with folders: `archive/talk_full.md`. It ends in `.md`.
---@field text? string What it says; the whole conversation as Markdown where nothing is given.
---@field append? boolean Whether it goes behind what the file holds already.

---@class FitOp.replace: Replace
---@field op "replace"

---@class FitOp.drop: Drop
---@field op "drop"

---@class FitOp.clear_tools: ClearToolsOp
---@field op "clear_tools"

---@class FitOp.insert: Insert
---@field op "insert"

---@alias FitOp FitOp.replace|FitOp.drop|FitOp.clear_tools|FitOp.insert

---@class Order.fit: Fit
---@field op "fit"

---@class Order.summarize: Summarize
---@field op "summarize"

---@class Order.age: AgeOrder
---@field op "age"

---@class Order.merge: Merge
---@field op "merge"

---@class Order.summarize_user: SummarizeUserOp
---@field op "summarize_user"

---@class Order.replace: Replace
---@field op "replace"

---@class Order.drop: Drop
---@field op "drop"

---@class Order.clear_tools: ClearToolsOp
---@field op "clear_tools"

---@class Order.insert: Insert
---@field op "insert"

---@class Order.rollover: Rollover
---@field op "rollover"

---@class Order.pin: PinOrder
---@field op "pin"

---@class Order.warn: Warn
---@field op "warn"

---@class Order.write_file: WriteFile
---@field op "write_file"

---@class Order.handover: Handover
---@field op "handover"

---@alias Order Order.fit|Order.summarize|Order.age|Order.merge|Order.summarize_user|Order.replace|Order.drop|Order.clear_tools|Order.insert|Order.rollover|Order.pin|Order.warn|Order.write_file|Order.handover

--- What each function that a file in `tests` returns is given.
---@class PolicyTest
---@field hook fun(name: string, job?: table, options?: table, behind?: any): any Asks a hook of the policy; gives its answer. Of the job only what the hook reads is needed, `mode` and `memo` among it; `options` stand in the place of the policy's own, and `behind` is what the policies behind it answer.
---@field reply fun(id: string, text: string|fun(ask: Ask): string) What a model answers from now on in this test to a question of that id: `hook` asks again with it, as the host does. Without one the question is what `hook` gives.
---@field eq fun(found: any, expected: any, message?: string) Fails unless both say the same; tables are compared by what they hold.
---@field ok fun(held: any, message?: string) Fails where it is `nil` or `false`.
---@field replay fun(recording: string, settings?: PlaySettings): PlayedConversation Plays a whole conversation under the policy, as `epitome replay` does, and says what came of it. It is a file in `tests`, a client's recording or a request, or one that is made up: `chat`, `agent`, `tight` or `marks`. Models answer what `reply` says; to write summaries they are asked for `summary`, and write none where the test says nothing for that. Such a test runs in `policy test`, and not where a changed policy is taken up.

--- What policies may call.
---@class ep
ep = {}

ep.re = {}

ep.json = {}

--- What the policies behind this one answer to the job of the hook that is running; `nil` where none has an opinion. Each of them is asked at most once about a job: what they gave is given again when you call this again, and it counts where your hook then answers `nil`, fails or takes too long. A hook that only passes it on is as if it were not there. The job cannot be changed, so it is the same one; what you want otherwise, change in the answer.
---@param job? table
---@return any
function ep.next(job) end

--- Tokens of a text.
---@param text string
---@return integer
function ep.count(text) end

--- The beginning of a text that takes no more than so many tokens.
---@param text string
---@param tokens integer
---@return string
function ep.clip(text, tokens) end

--- Sixteen hexadecimal digits that are the same for the same text.
---@param text string
---@return string
function ep.hash(text) end

--- The text of `prompts/NAME.md` in the policy's folder.
---@param name string
---@return string
function ep.prompt(name) end

--- Says a line to the policy's author, with file and line: on standard error, and in the log of `serve` and `run`. `debug` and `trace` need `--verbose`. `print` does the same at the level `info`.
---@param level 'error'|'warn'|'info'|'debug'|'trace'
---@param text string
function ep.log(level, text) end

--- Where a regular expression matches first: first and last byte, then its groups. As `string.find`, but with regular expressions, in time linear in the text.
---@param pattern string
---@param text string
---@param from? integer
---@return integer?, integer?, string? ...
function ep.re.find(pattern, text, from) end

--- The groups of the first match, or the whole match where there are no groups.
---@param pattern string
---@param text string
---@param from? integer
---@return string? ...
function ep.re.match(pattern, text, from) end

--- All matches, or their first groups where there are groups; at most 1,000 unless told otherwise.
---@param pattern string
---@param text string
---@param most? integer
---@return string[]
function ep.re.all(pattern, text, most) end

--- The text with every match replaced, and how many there were. `$1` stands for a group.
---@param pattern string
---@param text string
---@param with string
---@return string, integer
function ep.re.gsub(pattern, text, with) end

--- A value as JSON, the names of its tables in alphabetical order.
---@param value any
---@return string
function ep.json.encode(value) end

--- The value that a JSON text stands for; `nil` and why where it is none.
---@param text string
---@return any, string?
function ep.json.decode(text) end
