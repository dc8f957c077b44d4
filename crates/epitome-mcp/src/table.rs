//! The tools: declared once, each with what the model reads of it.
//!
//! Invariant: few and short, since all of it stands in every prompt of the client. A tool that
//! cannot do what it is asked says what was wrong, what is expected, and what to do.

use std::sync::Arc;

use epitome::controls::{
    AugmentChange, AugmentList, CompressionRequest, ContextStatus, GoalsView, RecallAnswer,
    RecallRequest,
};
use epitome::{LOCAL, LineRange, PinList, SessionControls};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::misfit::misfit;
use crate::words::{InWords, Snapped};
use crate::{args, schema};

/// Tokens that come back unless more are asked for.
const USUAL: u64 = 1_000;

/// What a call is about.
pub(crate) struct CallContext<'a> {
    pub(crate) levers: &'a SessionControls,
    /// The session that the call came from, where that is known.
    pub(crate) session: Option<&'a str>,
}

/// A tool.
pub(crate) struct ControlTool {
    pub(crate) name: &'static str,
    about: &'static str,
    /// Whether it changes nothing.
    reads: bool,
    /// The schemas of what it takes and of what it answers.
    schemas: fn() -> [JsonObject; 2],
    run: fn(&CallContext<'_>, JsonObject) -> Result<ToolAnswer, String>,
    /// Arguments that make sense.
    example: &'static str,
}

/// What a tool answers: for programs, and for models.
pub(crate) struct ToolAnswer {
    data: Value,
    words: String,
}

/// All tools, in the order in which they are listed.
pub(crate) const TABLE: [ControlTool; 9] = [
    ControlTool {
        name: "compress_to_checkpoint",
        about: "Ends a task: with the next request tool calls and results so far may leave the \
                prompt, what was said stays. `recall` finds them again.",
        reads: false,
        schemas: schemas::<args::Nothing, CompressionRequest>,
        run: |ground, arguments| {
            let args: args::Nothing = read(arguments)?;
            answer(
                &ground
                    .levers
                    .request_compression(ground.of(&args.session), COMPRESS)
                    .map_err(said)?,
            )
        },
        example: "{}",
    },
    ControlTool {
        name: "activate_augments",
        about: "Loads augments, texts on how to do something, with all that they require.",
        reads: false,
        schemas: schemas::<args::PatternArgs, AugmentChange>,
        run: |ground, arguments| {
            let args: args::PatternArgs = read(arguments)?;
            let done = ground.levers.activate(ground.of(&args.session), &args.patterns);
            answer(&done.map_err(said)?)
        },
        example: PATTERNS,
    },
    ControlTool {
        name: "deactivate_augments",
        about: "Unloads augments and ends a task, as compress_to_checkpoint does.",
        reads: false,
        schemas: schemas::<args::PatternArgs, AugmentChange>,
        run: |ground, arguments| {
            let args: args::PatternArgs = read(arguments)?;
            let session = ground.of(&args.session);
            let done = ground.levers.deactivate(session, &args.patterns, DEACTIVATE);
            answer(&done.map_err(said)?)
        },
        example: PATTERNS,
    },
    ControlTool {
        name: "list_augments",
        about: "Lists the augments that there are, and which are active.",
        reads: true,
        schemas: schemas::<args::Nothing, AugmentList>,
        run: |ground, arguments| {
            let args: args::Nothing = read(arguments)?;
            answer(&ground.levers.list(ground.of(&args.session)).map_err(said)?)
        },
        example: "{}",
    },
    ControlTool {
        name: "context_status",
        about: "Tells how full the context window is and what was done about it.",
        reads: true,
        schemas: schemas::<args::Nothing, ContextStatus>,
        run: |ground, arguments| {
            let args: args::Nothing = read(arguments)?;
            answer(&ground.levers.status(ground.of(&args.session)).map_err(said)?)
        },
        example: "{}",
    },
    ControlTool {
        name: "recall",
        about: "Brings back what left the prompt: passages that answer a query or several, or an \
                original by the id that stands where it was shortened.",
        reads: true,
        schemas: schemas::<args::RecallToolArgs, RecallAnswer>,
        run: |ground, arguments| {
            let args: args::RecallToolArgs = read(arguments)?;
            let most = args.max_tokens.unwrap_or(USUAL);
            if !(1..=args::MOST).contains(&most) {
                return Err(format!("`max_tokens` is {most}; it may be 1 to {}", args::MOST));
            }
            let lines = args.lines.as_deref().map(str::parse::<LineRange>).transpose();
            let lines = lines.map_err(|expected| format!("`lines`: {expected}"))?;
            let queries: Vec<&str> =
                args.query.iter().chain(&args.queries).map(String::as_str).collect();
            if queries.iter().any(|query| query.trim().is_empty()) {
                let named = if args.query.is_some() { "query" } else { "queries" };
                return Err(format!("`{named}` is empty; name what to look for, in any words"));
            }
            if queries.len() > args::QUERIES {
                return Err(format!(
                    "there are {} queries; {} at once may be",
                    queries.len(),
                    args::QUERIES
                ));
            }
            let wanted = match (&queries[..], &args.id) {
                ([], Some(id)) => RecallRequest::Original(id, lines.unwrap_or(LineRange::ALL)),
                ([], None) | (_, Some(_)) => {
                    return Err("one of `query`, `queries` and `id` is needed".to_owned());
                }
                _ if lines.is_some() => return Err("`lines` go with an `id`".to_owned()),
                ([query], None) => RecallRequest::Query(query),
                (queries, None) => RecallRequest::Queries(queries),
            };
            answer(&ground.levers.recall(wanted, most).map_err(said)?)
        },
        example: r#"{"query": "why the build failed"}, {"queries": ["the deadline", "who signs"]} or {"id": "9ac89c67", "lines": "1-40"}"#,
    },
    ControlTool {
        name: "snapshot",
        about: "Makes a restore point of the conversation, for the user to go back to.",
        reads: false,
        schemas: schemas::<args::SnapshotToolArgs, Snapped>,
        run: |ground, arguments| {
            let args: args::SnapshotToolArgs = read(arguments)?;
            let made = ground.levers.snapshot(ground.of(&args.session), args.name.as_deref());
            let made = made.map_err(said)?;
            let (session, id, name) = (made.session, made.id, made.name);
            let tenant = ground.levers.keeper().tenant();
            let tenant = (tenant != LOCAL).then(|| tenant.to_owned());
            let command = format!("epitome snapshot restore{} {id}", ground.levers.store_flag());
            answer(&Snapped { session, id, name, messages: made.size.messages, tenant, command })
        },
        example: r#"{"name": "before-the-merge"}"#,
    },
    ControlTool {
        name: "goal",
        about: "Shows or changes the goal, its milestones and decisions, which outlast every \
                compression.",
        reads: false,
        schemas: schemas::<args::GoalToolArgs, GoalsView>,
        run: |ground, arguments| {
            let args: args::GoalToolArgs = read(arguments)?;
            let session = ground.of(&args.session);
            let known = ground.levers.goals(session).map_err(said)?;
            let active = known.goals.iter().any(|goal| goal.status == "active");
            match args.acts(active)? {
                acts if acts.is_empty() => answer(&known),
                acts => answer(&ground.levers.change_goals(session, acts).map_err(said)?),
            }
        },
        example: r#"{"action": "milestone", "text": "the parser", "state": "completed"}"#,
    },
    ControlTool {
        name: "pin",
        about: "Keeps messages word for word through every compression.",
        reads: false,
        schemas: schemas::<args::PinToolArgs, PinList>,
        run: |ground, arguments| {
            let args: args::PinToolArgs = read(arguments)?;
            let session = ground.of(&args.session);
            let done = ground.levers.pin(session, &args.entries, !args.unpin);
            answer(&done.map_err(said)?)
        },
        example: r#"{"entries": ["e4"]}"#,
    },
];

/// Who asks for a compression, as acts name it.
const COMPRESS: &str = "compress_to_checkpoint";
const DEACTIVATE: &str = "deactivate_augments";

const PATTERNS: &str = r#"{"patterns": ["refactoring/*"]}; list_augments names what there is"#;

impl<'a> CallContext<'a> {
    /// The session that is named, else the one that the call came from.
    fn of<'n>(&self, named: &'n Option<String>) -> Option<&'n str>
    where
        'a: 'n,
    {
        named.as_deref().or(self.session)
    }
}

impl ControlTool {
    /// The tool of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        const ALL: &[ControlTool] = &TABLE;
        ALL.iter().find(|lever| lever.name == name)
    }

    /// What clients are told of it.
    pub(crate) fn tool(&self) -> Tool {
        let hints = ToolAnnotations::new().read_only(self.reads).open_world(false);
        let hints = if self.reads { hints } else { hints.destructive(false) };
        let [input, output] = (self.schemas)();
        let tool = Tool::new(self.name, self.about, input);
        tool.with_raw_output_schema(Arc::new(output)).with_annotations(hints)
    }

    /// Pulls it. What goes wrong is said to the model, which can mend it.
    pub(crate) fn pull(&self, ground: &CallContext<'_>, arguments: JsonObject) -> CallToolResult {
        match (self.run)(ground, arguments) {
            Ok(ToolAnswer { data, words }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
                result.structured_content = Some(data);
                result
            }
            Err(wrong) => {
                let words = format!("{}: {wrong}. Arguments like {}.", self.name, self.example);
                CallToolResult::error(vec![ContentBlock::text(words)])
            }
        }
    }
}

fn schemas<A: JsonSchema, O: JsonSchema>() -> [JsonObject; 2] {
    [schema::of_input::<A>(), schema::of_output::<O>()]
}

fn read<A: DeserializeOwned + JsonSchema>(arguments: JsonObject) -> Result<A, String> {
    A::deserialize(&Value::Object(arguments.clone())).map_err(|error| {
        misfit(&schema::of_input::<A>(), &arguments).unwrap_or_else(|| error.to_string())
    })
}

fn answer<T: Serialize + InWords>(answer: &T) -> Result<ToolAnswer, String> {
    let data = serde_json::to_value(answer).map_err(|error| error.to_string())?;
    Ok(ToolAnswer { data, words: answer.words() })
}

fn said(error: epitome::AdminError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in every prompt of a client: about a thousand tokens.
    const MOST: usize = 4_500;

    #[test]
    fn the_tools_are_few_and_short() {
        let size = |lever: &ControlTool| {
            let tool = lever.tool();
            let input = serde_json::to_string(&tool.input_schema).unwrap();
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.output_schema.unwrap()["type"], "object", "{}", tool.name);
            tool.name.len() + tool.description.unwrap_or_default().len() + input.len()
        };
        let sizes: Vec<_> = TABLE.iter().map(size).collect();
        assert!(sizes.iter().sum::<usize>() <= MOST, "{sizes:?}");
    }

    #[test]
    fn examples_are_taken() {
        let object = |text: &str| serde_json::from_str::<JsonObject>(text).unwrap();
        read::<args::PatternArgs>(object(r#"{"patterns": ["refactoring/*"]}"#)).unwrap();
        assert_eq!(
            read::<args::PatternArgs>(object(r#"{"patterns": "a/*"}"#)).unwrap().patterns,
            ["a/*"]
        );
        for (text, wrong) in [
            (r#"{"patterns": []}"#, "the list is empty"),
            (r#"{"patterns": [1]}"#, "expected a list of texts"),
            ("{}", "missing field `patterns`"),
            (
                r#"{"patterns": ["a"], "x": 1}"#,
                "unknown field `x`, expected `patterns` or `session`",
            ),
        ] {
            let error = read::<args::PatternArgs>(object(text)).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn goals_say_what_is_missing() {
        let check = |text: &str, expected: Result<usize, &str>| {
            let goal: args::GoalToolArgs = serde_json::from_str(text).unwrap();
            let acts = goal.acts(true).map(|acts| acts.len());
            assert_eq!(acts, expected.map_err(str::to_owned), "{text}");
        };
        check("{}", Ok(0));
        check(r#"{"action": "set", "text": "x", "priority": "high"}"#, Ok(2));
        check(r#"{"action": "set", "text": "x", "priority": "high", "new": true}"#, Ok(1));
        check(r#"{"action": "set"}"#, Err("`text` is missing"));
        check(r#"{"action": "set", "text": " "}"#, Err("`text` is missing"));
        check(r#"{"action": "prioritise"}"#, Err("`priority` is missing"));
        check(r#"{"action": "milestone", "text": "x", "state": "in_progress"}"#, Ok(1));
        check(r#"{"action": "decide", "text": "x", "locked": true}"#, Ok(1));
    }
}
