//! The reference of hooks, in Markdown.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use epitome_kernel::{HOOKS, HookShape};
use epitome_types::hook::{RENAMED, RenamedName, TableShape, ValueShape};

use super::{OWN, READS, choices, doc, is_job, tables, type_of};
use crate::api::API;
use crate::declared::FIELDS;
use crate::suite::GIVEN;

const INTRODUCTION: &str = "\
# Hooks

What a policy is asked and what it may answer. Generated from the declarations in Rust; `UPDATE=1
cargo test -p epitome-lua` writes it anew.

A policy is a folder with a `policy.lua`, whose first line is `--- @api 2`. It returns a table of
functions, one for each hook that it has an opinion on. A hook is given a job and answers with
data; `nil` is no opinion, and the next policy is asked. Jobs can only be read. Sizes are tokens,
places of messages count from 1. A `?` marks what may be `nil`.

Any hook may answer `{ ask = { id, system, user, max_tokens } }`: a model is asked, where the
profile allows it, and the hook is called again with `job.replies[id]`.

Every answer is bounded before anything is done about it: no size exceeds the limit of the prompt, at
least half of which is left for the prompt whatever is reserved, and what policies pin, or have brought
back at once, stays within a quarter of it; the lines of `facts` stay within half, and where they are more,
within what is reckoned to cost no more than `none` does. A policy that asks for more gets the bound, and the event `answer-bounded` says so once. A compression that neither the window
forces nor anybody asked for is made where it pays for itself: over a hundred requests, a conversation
costs at most a twentieth more than it would as it came. One that does not is passed over as `not_worth`.
";

const TESTS: &str = "
## Tests

A file in the folder `tests` returns a table of functions, and each of them is a test that is given `t`.
`epitome policy test NAME` runs them, and a changed policy is taken only once they hold.

```lua
return {
  test_a_finished_task_is_compressed = function(t)
    t.reply(\"done\", \"yes\")
    t.eq(t.hook(\"trigger\", { tokens = { total = 900 } }), { level = \"soft\" })
  end,

  test_a_long_session_is_cheaper_and_keeps_the_rules = function(t)
    local played = t.replay(\"agent\", { prompt_limit = 12000, keep = { \"E[0-9]{4}\" } })
    t.ok(played.cost <= 0.8, \"it costs \" .. played.cost)
    t.eq(played.discarded, {})
    t.ok(played.prompt:find(\"Never push to main\", 1, true))
  end,
}
```

| of `t` | type | |
| --- | --- | --- |
";

const OLD_NAMES: &str = "
## Names of api 1

A policy whose first line is `--- @api 1` may go by the old names, and a warning says the new one of
each that it uses. An option is a key of a profile too: `epitome.toml`, variables and `config show`
take either name.

| | api 1 | api 2 |
| --- | --- | --- |
";

/// An example of a hook: the table that a policy returns.
pub fn example(hook: &str) -> Option<&'static str> {
    Some(match hook {
        "budgets" => include_str!("examples/budgets.lua"),
        "tool_result" => include_str!("examples/tool_result.lua"),
        "observe" => include_str!("examples/observe.lua"),
        "goals" => include_str!("examples/goals.lua"),
        "facts" => include_str!("examples/facts.lua"),
        "trigger" => include_str!("examples/trigger.lua"),
        "plan" => include_str!("examples/plan.lua"),
        "age" => include_str!("examples/age.lua"),
        "summary_prompt" => include_str!("examples/summary_prompt.lua"),
        "verify" => include_str!("examples/verify.lua"),
        "render" => include_str!("examples/render.lua"),
        "status" => include_str!("examples/status.lua"),
        "recall" => include_str!("examples/recall.lua"),
        "on_event" => include_str!("examples/on_event.lua"),
        _ => return None,
    })
}

/// `HOOKS.md`.
pub fn reference() -> String {
    let mut out = INTRODUCTION.to_owned();
    out += "\n## What a policy returns\n\n| field | type | |\n| --- | --- | --- |\n";
    for (name, kind, docs) in FIELDS {
        out += &row(name, &format!("{kind}?"), docs);
    }
    for hook in HOOKS {
        out += &row(&format!("[{0}](#{0})", hook.name), "function", hook.doc);
    }
    out += "\nAn option is declared with these fields:\n\n";
    let tables = tables();
    out += &tables.get("Option").map(|table| fields(table)).unwrap_or_default();
    out += "\n## Every job\n\n";
    if let Some(common) = tables.get("Common") {
        out += &fields(common);
        for (name, kind, docs) in OWN {
            out += &row(name, kind, docs);
        }
    }
    for hook in HOOKS {
        out += &section(hook);
    }
    out += "\n## Operations of a plan\n\n| `op` | fields | |\n| --- | --- | --- |\n";
    let mut told = BTreeSet::new();
    let mut all: Vec<_> = choices().into_values().collect();
    // Some stand in a shorter list of their own, too.
    all.sort_by_key(|(_, variants)| Reverse(variants.len()));
    for (_, variants) in all {
        for (word, table) in variants.iter().filter(|(word, _)| told.insert(*word)) {
            let names = table.fields.iter().map(|field| match field.shape {
                ValueShape::Optional(inner) => format!("`{}`: {}?", field.name, type_of(inner)),
                ref shape => format!("`{}`: {}", field.name, type_of(shape)),
            });
            let names: Vec<String> = names.map(|name| name.replace('|', "\\|")).collect();
            out += &format!("| `{word}` | {} | {} |\n", names.join(", "), doc(table.doc));
        }
    }
    out += "\n## Tables\n";
    let words: Vec<&str> = choices()
        .into_values()
        .flat_map(|(_, variants)| variants.iter().map(|(_, table)| table.name))
        .collect();
    for table in tables.values() {
        let elsewhere = is_job(table) || ["Common", "Option"].contains(&table.name);
        if !elsewhere && !words.contains(&table.name) && !table.fields.is_empty() {
            out += &format!("\n### {}\n\n{}\n\n{}", table.name, doc(table.doc), fields(table));
        }
    }
    out += "\n## What policies may call\n";
    for function in API {
        let params = function.params.iter().map(|(name, kind)| format!("{name}: {kind}"));
        let params = params.collect::<Vec<_>>().join(", ");
        let (name, returns) = (function.name, function.returns);
        out += &format!("\n### ep.{name}\n\n`ep.{name}({params}) -> {returns}`\n\n");
        out += &format!("{}\n\n```lua\nassert({})\n```\n", function.doc, function.example);
    }
    out += TESTS;
    for (name, kind, docs) in GIVEN {
        out += &row(name, kind, docs);
    }
    out += OLD_NAMES;
    for RenamedName { kind, old, new } in RENAMED {
        out += &format!("| {} | `{old}` | `{new}` |\n", kind.noun());
    }
    out
}

fn section(hook: &HookShape) -> String {
    let mut out = format!("\n## {}\n\n{}\n\n", hook.name, doc(hook.doc));
    let own: Vec<_> = hook.job.own_fields().collect();
    if own.is_empty() {
        out += "The job has no more than every job.\n";
    } else {
        out += "| in the job | type | |\n| --- | --- | --- |\n";
        for field in own {
            out += &row(field.name, &type_of(&field.shape), field.doc);
        }
    }
    let answer = match hook.answer {
        ValueShape::Table(table) if table.fields.is_empty() => "nothing".to_owned(),
        ref answer => format!("`{}`", type_of(answer)),
    };
    out += &format!("\nThe answer: {answer}.\n");
    if let Some(example) = example(hook.name) {
        out += &format!("\n```lua\n{example}```\n");
    }
    out
}

fn fields(table: &TableShape) -> String {
    let mut out = "| field | type | |\n| --- | --- | --- |\n".to_owned();
    for field in table.own_fields() {
        out += &row(field.name, &type_of(&field.shape), field.doc);
    }
    for (_, name, kind, docs) in READS.iter().filter(|(owner, ..)| *owner == table.name) {
        out += &row(name, kind, docs);
    }
    out
}

fn row(name: &str, kind: &str, docs: &str) -> String {
    let name = if name.starts_with('[') { name.to_owned() } else { format!("`{name}`") };
    format!("| {name} | {} | {} |\n", kind.replace('|', "\\|"), doc(docs).replace('|', "\\|"))
}
