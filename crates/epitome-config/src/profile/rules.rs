//! What a profile states itself, beside the options of its policies.
//!
//! Invariant: what is here holds whichever policy decides. Read by the configuration, asked by the
//! engine.

use std::collections::BTreeMap;

use epitome_extensions::plugins::pattern::{means, precision};
use epitome_extract::KeepRules;
use epitome_kernel::types::hook::{
    AgeJob, Ageing, Budgets, BudgetsJob, ToolResultAnswer, ToolResultJob, Way,
};
use epitome_kernel::types::{Entry, EntryId, Part, PartBody, PartId, answers};
use epitome_kernel::{HookResult, NextPolicies, Policy};
use epitome_plan::{MarkerWords, PROFILE};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::schedule::{self, AgeingSteps, BudgetSteps};

/// The rules of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileRules {
    /// The lines that stay word for word.
    #[serde(serialize_with = "spelled")]
    pub keep: KeepRules,
    /// The results that stay whole.
    pub never: NeverRules,
    /// What becomes of the results of tools, by name or pattern.
    pub tools: BTreeMap<String, ToolRule>,
    /// The words that markers of goals begin with.
    pub markers: MarkerSpellings,
    /// What a model's summaries dwell on, by mode.
    pub prompts: BTreeMap<String, String>,
    /// Budgets, by the turn from which on they hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BudgetSteps,
    /// What becomes of checkpoints, by their age.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ageing: AgeingSteps,
}

/// The tool results that nothing touches: by the names of tools and by paths, `*` for any letters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct NeverRules(pub Vec<String>);

/// What becomes of the results of a tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolRule {
    /// Whether they are digested before they are first sent: `true` always, `false` never.
    #[serde(default)]
    pub digest: Option<bool>,
    /// The most tokens that one takes: a larger one is digested, or shortened where it cannot be.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 1)))]
    pub max_tokens: Option<u64>,
    /// Whether they leave for the store, with a preview of `max_tokens` in their place: `true`
    /// always, `false` never.
    #[serde(default)]
    pub offload: Option<bool>,
    /// The text that stands in their place; nothing of what they say is sent. `{id}`, `{tokens}` and
    /// `{lines}` are filled in.
    #[serde(default)]
    pub mask: Option<String>,
}

/// Other words for the markers of goals; those that are not set are `[GOAL]`, `[CHECKPOINT]`,
/// `[DECISION]`, `[ARTIFACT]` and `[NEXT]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkerSpellings {
    /// Sets a goal.
    #[serde(default)]
    pub goal: Option<String>,
    /// Names a step on the way, and its state.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// Names a decision.
    #[serde(default)]
    pub decision: Option<String>,
    /// Names what became of a file.
    #[serde(default)]
    pub artifact: Option<String>,
    /// Names what is to be done next.
    #[serde(default)]
    pub next: Option<String>,
}

/// The rules as the profile spells them.
fn spelled<S: serde::Serializer>(keep: &KeepRules, to: S) -> Result<S::Ok, S::Error> {
    keep.spelled().serialize(to)
}

impl ProfileRules {
    /// The entries of a live conversation that nothing touches. A result that is masked is none: a secret
    /// stays one, whatever `never` says.
    pub fn held(&self, entries: &[Entry]) -> Vec<EntryId> {
        self.never.entries_but(entries, |tool| mask_of(&self.tools, tool).is_some())
    }

    /// How many results in these messages are of tools that a live conversation masks.
    pub fn results_to_mask(&self, entries: &[Entry]) -> usize {
        let tool = |call: &PartId| match part(entries, *call).map(|part| &part.body) {
            Some(PartBody::Call(call)) => Some(call.tool.as_str()),
            _ => None,
        };
        let is_masked =
            |call: &PartId| tool(call).is_some_and(|it| mask_of(&self.tools, it).is_some());
        if self.tools.values().all(|rule| rule.mask.is_none()) {
            return 0;
        }
        answers(entries).values().filter(|call| is_masked(call)).count()
    }

    /// The most tokens that a result of a tool takes, where the profile says so.
    pub fn most_of(&self, tool: &str) -> Option<u64> {
        rule_of(&self.tools, tool)?.max_tokens
    }
}

/// What is said of a tool: of the patterns that mean it the one that says most of its name.
fn rule_of<'r>(tools: &'r BTreeMap<String, ToolRule>, tool: &str) -> Option<&'r ToolRule> {
    let meant = tools.iter().filter(|(pattern, _)| means(pattern, tool));
    meant.max_by_key(|(pattern, _)| precision(pattern)).map(|(_, rule)| rule)
}

/// The mask of a tool, whatever else is said of it.
fn mask_of<'r>(tools: &'r BTreeMap<String, ToolRule>, tool: &str) -> Option<&'r String> {
    let meant = tools.iter().filter(|(pattern, _)| means(pattern, tool));
    let masks = meant.filter_map(|(pattern, rule)| Some((pattern, rule.mask.as_ref()?)));
    masks.max_by_key(|(pattern, _)| precision(pattern)).map(|(_, mask)| mask)
}

impl NeverRules {
    /// Whether a call of a tool is one whose result nothing touches.
    pub fn holds(&self, tool: &str, arguments: &str) -> bool {
        let is_path = |pattern: &String| pattern.contains(['/', '.', '\\']);
        let (paths, tools): (Vec<_>, Vec<_>) = self.0.iter().partition(|one| is_path(one));
        tools.iter().chain(&paths).any(|pattern| means(pattern, tool))
            || (!paths.is_empty() && names_path(&paths, arguments))
    }

    /// The entries of a conversation that hold such results.
    pub fn entries(&self, entries: &[Entry]) -> Vec<EntryId> {
        self.entries_but(entries, |_| false)
    }

    /// The same but for the results of some tools.
    fn entries_but(&self, entries: &[Entry], is_free: impl Fn(&str) -> bool) -> Vec<EntryId> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let holds = |call: &PartId| match part(entries, *call).map(|part| &part.body) {
            Some(PartBody::Call(call)) => {
                !is_free(&call.tool) && self.holds(&call.tool, &call.arguments)
            }
            _ => false,
        };
        let answers = answers(entries);
        let mut held: Vec<_> = answers
            .iter()
            .filter(|(_, call)| holds(call))
            .map(|(result, _)| result.entry)
            .collect();
        held.sort_unstable();
        held.dedup();
        held
    }
}

fn part(entries: &[Entry], id: PartId) -> Option<&Part> {
    let at = entries.binary_search_by_key(&id.entry, |entry| entry.id).ok()?;
    entries[at].parts.get(id.part as usize)
}

/// Whether a call names a path that a pattern means, or the end of one. A folder means what is below it.
fn names_path(patterns: &[&String], arguments: &str) -> bool {
    let mut named = NamedPaths::default();
    match serde_json::from_str(arguments) {
        Ok(value) => named.read("", value),
        Err(_) => named.command(arguments),
    }
    let patterns = patterns.iter().map(|one| one.replace('\\', "/").replace("**", "*"));
    let patterns = patterns.flat_map(|one| [format!("{}/*", one.trim_end_matches('/')), one]);
    let patterns: Vec<_> = patterns.collect();
    named.0.iter().any(|path| {
        let inner = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        let mut ends = std::iter::once(&**path).chain(inner);
        ends.any(|end| patterns.iter().any(|pattern| means(pattern, end)))
    })
}

/// The arguments that hold a command and no path.
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "code", "input"];

/// What may be a path in the arguments of a call, with `/` between its parts and without numbers of lines.
#[derive(Default)]
struct NamedPaths(Vec<String>);

impl NamedPaths {
    fn read(&mut self, key: &str, value: Json) {
        match value {
            Json::String(text) => {
                if !COMMANDS.contains(&key) && !text.contains('\n') {
                    // The name of a file may hold spaces.
                    self.push(&text.replace('\\', "/"));
                }
                self.command(&text);
            }
            Json::Array(items) => items.into_iter().for_each(|item| self.read(key, item)),
            Json::Object(fields) => fields.into_iter().for_each(|(key, one)| self.read(&key, one)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// The words of a command, and what it quotes.
    fn command(&mut self, text: &str) {
        const SPACE: char = '\u{0}';
        let text = text.replace("\\ ", "\0").replace('\\', "/");
        let is_edge = |letter: char| letter.is_whitespace() || "\"'`=()<>|;,".contains(letter);
        text.split(is_edge).for_each(|word| self.push(&word.replace(SPACE, " ")));
        for quote in ['"', '\'', '`'] {
            text.split(quote).skip(1).step_by(2).for_each(|quoted| self.push(quoted));
        }
    }

    fn push(&mut self, path: &str) {
        let path = without_lines(path.trim());
        if !path.is_empty() {
            self.0.push(path.to_owned());
        }
    }
}

/// A path without the lines that are meant of it: `a.rs:10-20`, `a.rs:10:5`, `a.rs#L10`.
fn without_lines(mut path: &str) -> &str {
    let is_lines = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "-,L".contains(c))
    };
    while let Some((file, lines)) = path.rsplit_once([':', '#'])
        && is_lines(lines)
        && !file.is_empty()
    {
        path = file;
    }
    path
}

impl MarkerSpellings {
    /// The words that markers begin with.
    pub fn words(&self) -> MarkerWords {
        let usual = MarkerWords::default();
        let or = |own: &Option<String>, usual: String| own.clone().unwrap_or(usual);
        MarkerWords {
            goal: or(&self.goal, usual.goal),
            checkpoint: or(&self.checkpoint, usual.checkpoint),
            decision: or(&self.decision, usual.decision),
            artifact: or(&self.artifact, usual.artifact),
            next: or(&self.next, usual.next),
        }
    }

    /// A text about markers, with these words in the place of the usual ones.
    pub fn taught(&self, text: &str) -> String {
        let (usual, own) = (MarkerWords::default(), self.words());
        let words = [
            (usual.goal, own.goal),
            (usual.checkpoint, own.checkpoint),
            (usual.decision, own.decision),
            (usual.artifact, own.artifact),
            (usual.next, own.next),
        ];
        let (mut taught, mut rest) = (String::with_capacity(text.len()), text);
        // In one pass: one word may be what another one is called usually.
        let words = words.each_ref().map(|(usual, own)| (&**usual, &**own));
        while let Some((at, usual, own)) = first(rest, &words) {
            taught.push_str(&rest[..at]);
            taught.push_str(own);
            rest = &rest[at + usual.len()..];
        }
        taught + rest
    }

    /// Each word that is set, by its key.
    pub fn set(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("goal", &self.goal),
            ("checkpoint", &self.checkpoint),
            ("decision", &self.decision),
            ("artifact", &self.artifact),
            ("next", &self.next),
        ];
        all.into_iter().filter_map(|(key, word)| Some((key, word.as_deref()?)))
    }
}

/// Where the first of these words stands, what it is usually and what it is to be; the longest where
/// several begin there.
fn first<'w>(text: &str, words: &[(&'w str, &'w str)]) -> Option<(usize, &'w str, &'w str)> {
    let found = words.iter().filter_map(|(usual, own)| Some((text.find(usual)?, *usual, *own)));
    found.min_by_key(|(at, usual, _)| (*at, std::cmp::Reverse(usual.len())))
}

/// What a profile decides itself: it is asked before all policies.
#[derive(Clone, Debug)]
pub struct ProfilePolicy {
    never: NeverRules,
    tools: BTreeMap<String, ToolRule>,
    budgets: BudgetSteps,
    ageing: AgeingSteps,
}

impl ProfilePolicy {
    /// The policy of these rules; none where they decide nothing.
    pub fn for_rules(rules: &ProfileRules) -> Option<Self> {
        let ProfileRules { never, tools, budgets, ageing, .. } = rules.clone();
        let own = Self { never, tools, budgets, ageing };
        own.decides().then_some(own)
    }

    fn decides(&self) -> bool {
        let has_results = !self.never.0.is_empty() || !self.tools.is_empty();
        has_results || !self.budgets.is_empty() || !self.ageing.is_empty()
    }
}

impl Policy for ProfilePolicy {
    fn name(&self) -> &str {
        PROFILE
    }

    fn budgets(&self, job: &BudgetsJob, rest: &NextPolicies<'_>) -> HookResult<Budgets> {
        let Some(step) = schedule::in_turn(&self.budgets, job.common.talk.turns) else {
            return Ok(None);
        };
        let others = rest.budgets(job)?.unwrap_or_default();
        Ok(Some(schedule::stated(&step, job.common.model.limit, others)))
    }

    fn age(&self, job: &AgeJob, rest: &NextPolicies<'_>) -> HookResult<Vec<Ageing>> {
        if self.ageing.is_empty() {
            return Ok(None);
        }
        let mut steps = schedule::by_age(&self.ageing, &job.checkpoints);
        // Ages are the profile's; where checkpoints find no room, policies say which come down further.
        let room = job.budgets.checkpoints.unwrap_or(u64::MAX);
        if schedule::size(&job.checkpoints, &steps) > room {
            let others = rest.age(job)?.unwrap_or_default();
            let is_new =
                |other: &Ageing| steps.iter().all(|step| step.checkpoint != other.checkpoint);
            let others: Vec<_> = others.into_iter().filter(is_new).collect();
            steps.extend(others);
        }
        Ok(Some(steps))
    }

    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        rest: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        let tool = job.entry.tool.as_deref().unwrap_or_default();
        let arguments = job.entry.args.as_deref().unwrap_or_default();
        let answer = |how, max_tokens| Ok(Some(ToolResultAnswer { how, text: None, max_tokens }));
        if let Some(text) = mask_of(&self.tools, tool) {
            let (how, text) = (Way::Mask, Some(text.clone()));
            return Ok(Some(ToolResultAnswer { how, text, max_tokens: None }));
        } else if self.never.holds(tool, arguments) {
            return answer(Way::Keep, None);
        }
        let Some(rule) = rule_of(&self.tools, tool) else { return Ok(None) };
        let is_small = rule.max_tokens.is_some_and(|most| job.entry.tokens <= most);
        match rule {
            ToolRule { digest: None, offload: None, max_tokens: None, .. } => Ok(None),
            _ if is_small => answer(Way::Keep, None),
            ToolRule { offload: Some(true), max_tokens, .. } => answer(Way::Offload, *max_tokens),
            ToolRule { digest: Some(true), max_tokens: None, .. } => answer(Way::Digest, None),
            // A digest is tried first, and what it cannot come to is cut.
            ToolRule { max_tokens: Some(most), .. } => answer(Way::Offload, Some(*most)),
            ToolRule { digest, offload, .. } => {
                let given = rest.tool_result(job)?;
                let is_barred = |given: &ToolResultAnswer| match given.how {
                    Way::Digest => *digest == Some(false),
                    Way::Offload => *offload == Some(false),
                    Way::Keep | Way::Mask => false,
                };
                if given.as_ref().is_some_and(is_barred) {
                    return answer(Way::Keep, None);
                }
                Ok(given)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    fn never(patterns: &[&str]) -> NeverRules {
        NeverRules(patterns.iter().map(|one| (*one).to_owned()).collect())
    }

    #[test]
    fn a_pattern_means_a_tool_or_a_path() {
        let check = |pattern: &str, tool: &str, arguments: &str, expected: bool| {
            assert_eq!(never(&[pattern]).holds(tool, arguments), expected, "{pattern} {arguments}");
        };
        check("run_sql", "run_SQL", "{}", true);
        check("run_*", "read", r#"{"path":"run_sql"}"#, false);
        check("migrations/*.sql", "read", r#"{"path":"/srv/app/migrations/001.sql"}"#, true);
        check("migrations/**", "bash", r#"{"command":"cat 'migrations/a/b.sql' | head"}"#, true);
        check("*.sql", "read", r#"{"paths":["a.rs",{"path":"x/b.sql"}]}"#, true);
        check("b.sql", "read", "x/b.sql", true);
        // A folder is what is below it.
        check("db/migrations", "read", r#"{"path":"/srv/db/migrations/a/1.sql"}"#, true);
        check("db/migrations/", "read", r#"{"path":"db/migrations/1.sql"}"#, true);
        check("db/migrations", "read", r#"{"path":"db/migrations.md"}"#, false);
        check("b.sql", "read", r#"{"path":"ab.sql"}"#, false);
        check("db.query", "db.query", "{}", true);
        check("my notes/*.md", "read", r#"{"path":"/srv/my notes/the plan.md"}"#, true);
        check("notes/*.md", "read", r#"{"path":"notes/the plan.md"}"#, true);
        check("notes/*.md", "bash", r#"{"command":"cat \"notes/the plan.md\" | head"}"#, true);
        check("notes/*.md", "bash", r#"{"command":"cat notes/the\\ plan.md"}"#, true);
        check("notes/*.md", "bash", r#"{"command":"cat notes/a.txt b.md"}"#, false);
        check("*.sql", "read", r#"{"path":"migrations/1.sql:10-20"}"#, true);
        check("*.sql", "read", r#"{"path":"migrations/1.sql#L10"}"#, true);
        check("*.sql", "grep", "migrations/1.sql:10:5", true);
        check("*.sql", "read", r#"{"path":"1.sql:x"}"#, false);
        check("migrations/*.sql", "read", r#"{"path":"C:\\app\\migrations\\1.sql"}"#, true);
        check("migrations\\*.sql", "read", r#"{"path":"app/migrations/1.sql"}"#, true);
    }

    /// A word that is given to another one is not taken for the usual one.
    #[test]
    fn words_that_are_swapped_are_taught_swapped() {
        let [goal, next] = ["[NEXT]", "[GOAL]"].map(|word| Some(word.to_owned()));
        let own = MarkerSpellings { goal, next, ..MarkerSpellings::default() };
        let taught = own.taught("[GOAL] what for\n[NEXT] what then\n[DECISION] why");
        assert_eq!(taught, "[NEXT] what for\n[GOAL] what then\n[DECISION] why");
    }

    #[test]
    fn the_results_of_such_calls_are_held() {
        let entries = chat()
            .user("go")
            .call("read", r#"{"path":"a.sql"}"#)
            .result("one")
            .call("read", r#"{"path":"a.rs"}"#)
            .result("two")
            .entries();
        assert_eq!(never(&["*.sql"]).entries(&entries), [EntryId(2)]);
        assert_eq!(never(&[]).entries(&entries), []);
        assert_eq!(never(&["read"]).entries(&entries), [EntryId(2), EntryId(4)]);
    }
}
