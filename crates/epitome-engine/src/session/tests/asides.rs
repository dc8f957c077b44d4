//! What policies do beside changing the prompt: files, stages, and what a report counts.

use std::collections::BTreeMap;
use std::path::Path;

use epitome_kernel::{Answer, HookResult, Job, NextPolicies, Policy, Workspace};
use epitome_types::Stage;
use epitome_types::hook::{
    Due, Fit, Handover, How as Shortened, MessageNumber, Noted, OpRequest, Orders, Replace, Status,
    Strength, ToolResultAnswer, TriggerAnswer, Way, WriteFile,
};
use epitome_workspace::WorkspaceFolder;
use serde_json::json;

use super::*;
use crate::builder::CompressorBuilder;
use crate::session::remove_offloaded;
use epitome_admin::admin::SessionAdmin;
use epitome_config::RedactionPatterns;

/// Answers what a function says.
struct Says<F>(F);

impl<F> Policy for Says<F>
where
    F: Fn(&Job<'_>) -> Option<Answer> + Send + Sync,
{
    fn name(&self) -> &str {
        "says"
    }

    fn answer(&self, job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
        Ok((self.0)(job))
    }
}

/// A session in a folder, or in none, whose policy answers what a function says.
pub(super) fn with(
    journal: &Arc<MemoryStore>,
    folder: Option<&Path>,
    says: impl Fn(&Job<'_>) -> Option<Answer> + Send + Sync + 'static,
) -> Session {
    let mut builder = settings(4000).policy(Says(says));
    if let Some(folder) = folder {
        builder = builder.workspace(WorkspaceFolder::new(folder));
    }
    builder.session(journal.clone(), Some("a"))
}

/// A session in a window of so many tokens, each of them four characters, whose policy answers what a
/// function says.
pub(super) fn with_limit(
    journal: &Arc<MemoryStore>,
    limit: u64,
    says: impl Fn(&Job<'_>) -> Option<Answer> + Send + Sync + 'static,
) -> Session {
    settings(limit)
        .counter(FixedCounter::Quarters)
        .policy(Says(says))
        .session(journal.clone(), Some("a"))
}

fn settings(limit: u64) -> CompressorBuilder {
    let redaction = RedactionPatterns::new(&["sk-[a-z]+".to_owned()]).unwrap();
    let mut profile = Profile::default();
    profile.redaction = redaction;
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    builder.window(WindowSetting::Limit(limit)).clock(|| AT.to_owned())
}

pub(super) fn said(role: &str, text: &str) -> String {
    json!({"role": role, "content": text}).to_string()
}

/// A call and what it returned.
pub(super) fn called(
    id: &str,
    tool: &str,
    arguments: serde_json::Value,
    result: &str,
) -> [String; 2] {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"id": id, "type": "function", "function": function});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": id, "content": result});
    [call.to_string(), result.to_string()]
}

/// A conversation of so many turns.
pub(super) fn talk(turns: usize) -> Vec<String> {
    let mut messages = vec![said("system", "Be brief."), said("user", "Mend the parser, sk-abc.")];
    for turn in 0..turns {
        messages.push(said("assistant", &format!("Step {turn} of the parser is done. {turn}")));
        messages.push(said("user", &format!("Go on with part {turn}. {}", "word ".repeat(20))));
    }
    messages
}

pub(super) fn compress() -> Option<Answer> {
    let due = Due { level: Strength::Hard, target: Some(120), reason: None };
    Some(Answer::Trigger(TriggerAnswer::Compress(due)))
}

fn export(name: &str, text: Option<&str>, append: bool) -> WriteFile {
    WriteFile { name: name.into(), text: text.map(str::to_owned), append: append.then_some(true) }
}

pub(super) fn happened(prompt: &Prompt) -> Vec<&EventKind> {
    prompt.events.iter().map(|event| &event.what).collect()
}

pub(super) fn text(prompt: &Prompt) -> String {
    String::from_utf8(prompt.bytes.to_vec()).unwrap()
}

/// What stands in the files under `.epitome`, by their names.
#[expect(clippy::disallowed_methods, reason = "the client reads these files")]
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.join(".epitome")];
    while let Some(inner) = folders.pop() {
        for file in std::fs::read_dir(inner).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(folder.join(".epitome")).unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(name.display().to_string(), text);
            }
        }
    }
    found
}

/// Compresses all it gets, with an archive, a log and a handover.
fn archives(job: &Job<'_>) -> Option<Answer> {
    match job {
        Job::Trigger(_) => compress(),
        Job::Plan(_) => {
            let ops = vec![
                OpRequest::WriteFile(export("archive/a b_full.md", None, false)),
                OpRequest::WriteFile(export("LOG.md", Some("planned with sk-abc"), true)),
                OpRequest::Handover(Handover::default()),
                OpRequest::Fit(Fit::default()),
            ];
            Some(Answer::Plan(Orders { ops, ..Orders::default() }))
        }
        Job::Event(job) => {
            let EventKind::Compressed { number, .. } = &job.event.what else { return None };
            let export = export("LOG.md", Some(&format!("compressed {number}")), true);
            Some(Answer::Event(Noted { write_file: Some(export) }))
        }
        _ => None,
    }
}

/// RULES 48: the whole conversation is archived before it is summarised; RULES 44: a block of the
/// log for each action; RULES 49: what a fresh session starts from.
#[test]
fn a_plan_and_its_events_write_files() {
    let (journal, folder) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let mut live = with(&journal, Some(folder.path()), archives);
    let messages = talk(20);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    assert!(has_epoch(&prompt));
    let written = files(folder.path());
    let archive = &written["archive/a_b_full.md"];
    assert!(archive.starts_with("<!-- session a -->\n# Session a\n"), "{archive}");
    assert!(archive.contains("Mend the parser, [redacted].") && archive.contains("part 19"));
    let log = "<!-- session a -->\nplanned with [redacted]\n<!-- session a -->\ncompressed 1\n";
    assert_eq!(written["LOG.md"], log);
    let handed = happened(&prompt).into_iter().find_map(|what| match what {
        EventKind::Handover { file, text } => Some((file.clone(), text.clone())),
        _ => None,
    });
    let (file, start) = handed.unwrap();
    assert_eq!(file.as_deref(), Some(".epitome/handover/a.md"));
    assert!(written["handover/a.md"].contains(&start) && start.contains("Shortened"), "{start}");
    // A fresh session that repeats it adds to the log, and what one wrote can be taken out.
    let other = WorkspaceFolder::new(folder.path());
    other.append(".epitome/LOG.md", b"<!-- session b -->\nanother\n").unwrap();
    assert_eq!(remove_offloaded(&other, "a"), Ok(written.len() as u32));
    let left = files(folder.path());
    assert_eq!(left, BTreeMap::from([("LOG.md".into(), "<!-- session b -->\nanother\n".into())]));
}

/// RULES 46: what cannot be written is told, and the conversation goes on.
#[test]
fn without_a_folder_it_is_told_once() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = with(&journal, None, archives);
    let mut told = Vec::new();
    for turns in [20, 40] {
        let prompt = now(live.prompt_for(&body(&talk(turns)))).unwrap();
        assert!(has_epoch(&prompt));
        told.extend(happened(&prompt).into_iter().filter_map(|what| match what {
            EventKind::WorkspaceError { cause, .. } => Some(cause.clone()),
            EventKind::Handover { file, .. } => {
                assert_eq!(*file, None);
                None
            }
            _ => None,
        }));
    }
    let none = |file: &str| {
        format!("the file `.epitome/{file}` is not in the workspace: there is no workspace")
    };
    assert_eq!(told, [none("archive/a_b_full.md"), none("LOG.md")]);
}

/// RULES 26: each stage is told of when it is done, in order, and nothing where none was.
#[test]
fn a_compression_comes_through_its_stages() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = with(&journal, None, |job| match job {
        Job::Trigger(job) if job.common.messages > 10 => compress(),
        _ => None,
    });
    let stages = |prompt: &Prompt| {
        let stages = happened(prompt).into_iter().filter_map(|what| match what {
            EventKind::CheckpointProgress { stage, fraction } => Some((*stage, *fraction)),
            _ => None,
        });
        stages.collect::<Vec<_>>()
    };
    assert_eq!(stages(&now(live.prompt_for(&body(&talk(2)))).unwrap()), []);
    let found = stages(&now(live.prompt_for(&body(&talk(20)))).unwrap());
    let words: Vec<_> = found.iter().map(|(stage, _)| stage.word()).collect();
    let expected = "identification preparation summarisation checkpoint_creation context_update \
                    validation";
    assert_eq!(words.join(" "), expected);
    assert!(found.is_sorted_by(|(_, one), (_, next)| one < next));
    assert_eq!(found.last(), Some(&(Stage::Validation, 1.0)));
}

/// Offloads what is long, as RULES 46 words it.
fn offloads(job: &Job<'_>) -> Option<Answer> {
    let Job::ToolResult(job) = job else { return None };
    let with = format!(
        "# Offloaded: {} result\n{{file}} (saves {{saved}} of {{tokens}} tokens, {{lines}} lines)\n{}",
        job.entry.tool.as_deref().unwrap_or_default(),
        job.entry.tokens,
    );
    let long = job.entry.tokens > 50;
    long.then_some(Answer::ToolResult(ToolResultAnswer {
        how: Way::Offload,
        text: Some(with),
        max_tokens: None,
    }))
}

#[test]
fn an_offloaded_result_stands_in_the_file_that_its_text_names() {
    let journal = Arc::new(MemoryStore::new());
    let result = "a line of words\n".repeat(40);
    let messages: Vec<_> = [said("user", "Read it.")]
        .into_iter()
        .chain(called("c", "mcp/read file", json!({"path": "a"}), &result))
        .collect();
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let prompt =
        now(with(&journal, Some(one.path()), offloads).prompt_for(&body(&messages))).unwrap();
    let written = files(one.path());
    let [(name, file)] = &written.iter().collect::<Vec<_>>()[..] else { panic!("{written:?}") };
    assert!(name.starts_with("offloaded/20260102_030405_mcp_read_file_"), "{name}");
    assert!(file.ends_with(&format!("\n\n{result}\n")), "{file}");
    let sent = text(&prompt);
    let shown = format!(".epitome/{name} (saves 146 of 160 tokens, 40 lines)");
    assert!(sent.contains(&shown) && !sent.contains("[…"), "{sent}");
    // Another process in another folder finds the name again, and has the file there.
    let again =
        now(with(&journal, Some(other.path()), |_| None).prompt_for(&body(&messages))).unwrap();
    assert!(again.bytes == prompt.bytes);
    assert_eq!(files(other.path()), written);
    // Where there is no folder no text names a file.
    let plain = Arc::new(MemoryStore::new());
    let prompt = now(with(&plain, None, offloads).prompt_for(&body(&messages))).unwrap();
    let sent = text(&prompt);
    assert!(!sent.contains("{file}") && sent.contains("epitome recall"), "{sent}");
}

/// RULES 47: only what is on disk as it was written counts as persisted.
#[test]
fn inputs_are_persisted_while_they_are_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let inner = WorkspaceFolder::new(folder.path());
    let write = |name: &str, text: &str| {
        inner.export(&format!(".epitome/{name}.txt"), text.as_bytes()).unwrap();
    };
    write("whole", "fn a() {}\nfn b() {}\n");
    write("edited", "fn a() {}\nfn c() {}\n");
    let path = |name: &str| format!(".epitome/{name}.txt");
    let put = |id: &str, name: &str, result: &str| {
        let content = "fn a() {}\nfn b() {}\n";
        called(id, "Write", json!({"file_path": path(name), "content": content}), result)
    };
    let edit = json!({"file_path": folder.path().join(path("edited")), "old_string": "b", "new_string": "fn c() {}"});
    let messages: Vec<_> = [said("user", "Write it.")]
        .into_iter()
        .chain(put("1", "whole", "ok"))
        .chain(put("2", "edited", "ok"))
        .chain(put("3", "gone", "ok"))
        .chain(called("4", "Edit", edit, "ok"))
        .chain([said("user", "Go on.")])
        .collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let says = move |job: &Job<'_>| match job {
        Job::Trigger(_) => compress(),
        Job::Plan(job) => {
            let inputs = job.entries.inputs.iter().flatten();
            noted.lock().unwrap().extend(inputs.map(|input| input.persisted));
            None
        }
        _ => None,
    };
    let journal = Arc::new(MemoryStore::new());
    now(with(&journal, Some(folder.path()), says).prompt_for(&body(&messages))).unwrap();
    assert_eq!(*seen.lock().unwrap(), [true, false, false, true]);
}

/// RULES 47, 50: what was truncated is told once, and counted with all else in what a status is
/// asked of.
#[test]
fn what_was_done_is_counted_for_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let content = "one two three\n".repeat(60);
    WorkspaceFolder::new(folder.path()).export(".epitome/a.txt", content.as_bytes()).unwrap();
    let input = json!({"file_path": ".epitome/a.txt", "content": content});
    let result = "a line of words\n".repeat(40);
    let mut messages = vec![said("user", "Write it.")];
    messages.extend(called("1", "Write", input, "ok"));
    messages.extend(called("2", "read", json!({"path": "b"}), &result));
    messages.push(said("user", "Go on."));
    let truncates = |job: &Job<'_>| match job {
        Job::Trigger(_) => compress(),
        Job::Plan(job) => {
            let places = (1..).zip(&job.entries.inputs);
            let wrote = places.filter(|(_, inputs)| inputs.iter().any(|input| input.persisted));
            let ops = wrote.map(|(place, _)| {
                OpRequest::Replace(Replace {
                    entry: MessageNumber(place),
                    how: Shortened::TruncateInput,
                    text: Some("on disk".to_owned()),
                    target: None,
                    call: None,
                })
            });
            Some(Answer::Plan(Orders { ops: ops.collect(), ..Orders::default() }))
        }
        job => offloads(job),
    };
    let journal = Arc::new(MemoryStore::new());
    let mut live = with(&journal, Some(folder.path()), truncates);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let truncated = happened(&prompt).into_iter().find_map(|what| match what {
        EventKind::ToolInputTruncated { entry, tool, saved } => Some((&**entry, &**tool, *saved)),
        _ => None,
    });
    let (entry, tool, saved) = truncated.unwrap();
    assert_eq!((entry, tool), ("e1", "Write"));
    assert!(saved > 100, "{saved}");
    messages.push(said("assistant", "Well."));
    messages.push(said("user", "Go on."));
    let again = now(live.prompt_for(&body(&messages))).unwrap();
    let again = happened(&again);
    assert!(again.iter().all(|what| !matches!(what, EventKind::ToolInputTruncated { .. })));

    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    let reads = move |job: &Job<'_>| {
        let Job::Status(job) = job else { return None };
        *noted.lock().unwrap() = Some((*job).clone());
        let report = job.report.then(|| "# Report".to_owned());
        Some(Answer::Status(Status { report, ..Status::default() }))
    };
    let keeper = SessionAdmin::new(journal, Profile::default().with_policy(Says(reads)));
    let said = keeper.report(Some("a"), "2026-02-02T00:00:00Z").unwrap();
    assert_eq!(said.and_then(|said| said.report).as_deref(), Some("# Report"));
    let job = seen.lock().unwrap().take().unwrap();
    let counts = [&job.done.offloaded, &job.done.truncated, &job.done.digested];
    assert_eq!(counts.map(|done| done.count), [1, 1, 0]);
    assert_eq!(job.done.offloaded.saved, 147);
    assert!(job.done.truncated.saved > 100);
    let kinds: Vec<_> = job.history.iter().map(|past| past.what.word()).collect();
    assert_eq!(kinds, ["offload", "compression", "truncation"]);
    assert!(job.history.iter().all(|past| past.at == AT));
    assert_eq!(job.common.now, "2026-02-02T00:00:00Z");
    assert_eq!((job.common.messages, job.common.tokens.total), (8, prompt_tokens(&keeper)));
}

/// Tokens of the newest prompt of the session, as the journal has them.
fn prompt_tokens(keeper: &SessionAdmin) -> u64 {
    keeper.session(Some("a")).unwrap().figures.tokens[1]
}
