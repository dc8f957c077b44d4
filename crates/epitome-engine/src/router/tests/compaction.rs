//! Clients that sum their own history up: who goes on with which summary, and what holds behind it.

use epitome_kernel::Journal;
use epitome_types::SessionAction;

use super::*;

/// How a client begins the history that it goes on with.
const GOES_ON: &str = "This session is being continued from a previous conversation.";

#[test]
fn a_history_that_its_client_compacted_keeps_the_name() {
    let journal: Arc<MemoryStore> = Arc::default();
    let live = hub(&journal, None);
    assert_eq!(name(&live, &talk("a", 3), "work"), "work");
    let mut compacting = talk("a", 3);
    compacting.push(say("assistant", "Done."));
    compacting
        .push(say("user", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Sum up."));
    let asked = sent(&live, &ask(&compacting, "work"));
    assert!(asked.compacts() && asked.prompt.session == "work");
    let summary = "The parser was mended, \"all\" of it; next comes the lexer and its tests.";
    let message = say("assistant", summary).to_string();
    let answer = ModelResponse { messages: vec![message.into()], ..ModelResponse::default() };
    now(live.record_response(&asked, &answer));
    // A subagent between them is not it.
    let agent = [say("system", "You search."), say("user", "Find the lexer.")];
    assert_ne!(name(&live, &agent, "work"), "work");
    let text = format!("{GOES_ON}\nSo far: {summary}");
    let mut after = vec![say("system", "Be brief."), say("user", &text)];
    assert_eq!(name(&live, &after, "work"), "work");
    after.extend([say("assistant", "On it."), say("user", "Go on.")]);
    assert_eq!(name(&live, &after, "work"), "work");
    assert_eq!(name(&hub(&journal, None), &after, "work"), "work");
}

/// An id and the words of a client prove nothing: its own summary of something else begins alike.
#[test]
fn a_summary_that_nobody_saw_goes_on_from_nothing() {
    let journal: Arc<MemoryStore> = Arc::default();
    let live = hub(&journal, None);
    assert_eq!(name(&live, &talk("a", 3), "work"), "work");
    let after = [say("system", "Be brief."), say("user", &format!("{GOES_ON} One."))];
    assert_ne!(name(&live, &after, "work"), "work");
    summed_up(&live, &SUMMARY);
    let others = "The user looks for flights to Rome.\nThe hotels are near the station.";
    let after = format!("{GOES_ON}\n{others}\n{}", SUMMARY[2]);
    assert_ne!(name(&live, &[say("user", &after)], "work"), "work");
    let after = format!("{GOES_ON}\n{}", SUMMARY.join("\n"));
    assert_eq!(name(&live, &[say("user", &after)], "work"), "work");
}

/// The headings that a client asks for stand in each of its summaries, and what a model thinks first
/// in no history.
#[test]
fn a_summary_is_known_by_what_it_says_itself() {
    let live = hub(&Arc::default(), None);
    assert_eq!(name(&live, &talk("a", 3), "work"), "work");
    let headings = ["1. Primary Request and Intent:", "2. Key Technical Concepts:"];
    let thought = (0..40).map(|at| format!("I went through the message {at} of the conversation."));
    let thought = thought.collect::<Vec<_>>().join("\n");
    let own = "The user wants the parser mended.\nThe lexer comes next, with its tests.";
    let answer = format!("<analysis>{thought}</analysis>{}\n{own}", headings.join("\n"));
    summed_up(&live, &[&answer]);
    let others = format!("{GOES_ON}\n{}\nFlights to Rome.", headings.join("\n"));
    assert_ne!(name(&live, &[say("user", &others)], "work"), "work");
    let after = format!("{GOES_ON}\nSummary:\n{own}");
    assert_eq!(name(&live, &[say("user", &after)], "work"), "work");
}

#[test]
fn what_a_summary_stands_for_is_noted_once() {
    let journal: Arc<MemoryStore> = Arc::default();
    let live = hub(&journal, None);
    let noted = |hub: &SessionRouter, messages: &[Value]| {
        assert_eq!(name(hub, messages, "work"), "work");
        let acts = journal.acts(&epitome_config::scope::scope("default"), "work").unwrap();
        let is_noted = |act: &SessionAction| matches!(act, SessionAction::ClientCompaction { .. });
        acts.iter().filter(|acted| is_noted(&acted.act)).count()
    };
    let mut messages = talk("a", 2);
    messages.extend([say("assistant", "[GOAL] Ship the heron importer"), say("user", "Go on.")]);
    assert_eq!(noted(&live, &messages), 0);
    sum_up(&live, &messages, &SUMMARY);
    let text = format!("{GOES_ON}\n{}", SUMMARY.join("\n"));
    let mut after = vec![say("system", "Be brief."), say("user", &text)];
    assert_eq!(noted(&live, &after), 1);
    after.extend([say("assistant", "On it, with all of the tests."), say("user", "Go on.")]);
    assert_eq!(noted(&live, &after), 1);
    // Whoever is started anew in the middle knows the history by its summary, too.
    after.extend([say("assistant", "The tests pass by now."), say("user", "And then?")]);
    assert_eq!(noted(&hub(&journal, None), &after), 1);
}

/// A client that sums its history up, and an answer of several lines.
fn summed_up(hub: &SessionRouter, lines: &[&str]) {
    sum_up(hub, &talk("a", 3), lines);
}

fn sum_up(hub: &SessionRouter, messages: &[Value], lines: &[&str]) {
    let mut asking = messages.to_vec();
    asking.push(say("assistant", "Done."));
    let sections = "1. Primary Request and Intent: all of it\n2. Key Technical Concepts: each";
    let text = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Sum up.";
    asking.push(say("user", &format!("{text}\n{sections}")));
    let asked = sent(hub, &ask(&asking, "work"));
    let messages = vec![say("assistant", &lines.join("\n")).to_string().into()];
    now(hub.record_response(&asked, &ModelResponse { messages, ..ModelResponse::default() }));
}

const SUMMARY: [&str; 4] = [
    "The parser was mended in the morning.",
    "The tests of the lexer all pass by now.",
    "All user messages: Mend the parser, please.",
    "Next step: write the documentation of it.",
];

#[test]
fn whoever_quotes_a_line_of_a_summary_is_somebody_else() {
    let live = hub(&Arc::default(), None);
    assert_eq!(name(&live, &talk("a", 3), "work"), "work");
    summed_up(&live, &SUMMARY);
    for line in SUMMARY {
        let task = [say("system", "You write."), say("user", &format!("Your task: {line}"))];
        assert_ne!(name(&live, &task, "work"), "work", "{line}");
    }
    let summary = format!("{GOES_ON}\n{}", SUMMARY.join("\n"));
    let after = [say("system", "Be brief."), say("user", &summary)];
    assert_eq!(name(&live, &after, "work"), "work");
    // It was gone on with: whoever quotes it from now on, whole or not, is somebody else.
    let task = [say("system", "You write."), say("user", &format!("Your task: {summary}"))];
    assert_ne!(name(&live, &task, "work"), "work");
}

#[test]
fn a_summary_may_stand_behind_what_the_user_typed() {
    let live = hub(&Arc::default(), None);
    assert_eq!(name(&live, &talk("a", 3), "work"), "work");
    summed_up(&live, &SUMMARY);
    let typed = |at: usize| say("user", &format!("a {at}, and then? {}", "well ".repeat(12)));
    let mut after = vec![say("system", "Be brief."), say("user", "Mend the parser.")];
    after.extend((0..3).map(typed));
    let goes_on = "Another language model started to solve this problem and produced a summary.";
    after.push(say("user", &format!("{goes_on}\n{}", SUMMARY.join("\n"))));
    assert_eq!(name(&live, &after, "work"), "work");
}

/// Agents of one client that have their histories compacted at the same time; each process of the
/// program may see another part of it.
#[test]
fn agents_of_one_client_that_compact_at_once_keep_their_names() {
    for restarts in [false, true] {
        let journal: Arc<MemoryStore> = Arc::default();
        let first = hub(&journal, None);
        let anew = restarts.then(|| [(); 2].map(|()| hub(&journal, None)));
        let [second, third] = match &anew {
            Some([second, third]) => [second, third],
            None => [&first; 2],
        };
        let asks = ["a", "b"].map(|topic| {
            let mut compacting = talk(topic, 3);
            compacting[1] = say("user", &format!("Mend the parser of {topic}."));
            name(&first, &compacting, "work");
            compacting.push(say("assistant", "Done."));
            compacting
                .push(say("user", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."));
            sent(second, &ask(&compacting, "work"))
        });
        let names = asks.each_ref().map(|asked| asked.prompt.session.clone());
        assert_ne!(names[0], names[1]);
        let summaries =
            ["The parser was mended in the morning.", "The tests of the lexer all pass now."];
        for (asked, summary) in asks.iter().zip(summaries) {
            let text = format!("<summary>\n{summary}\n</summary>");
            let messages = vec![say("assistant", &text).to_string().into()];
            let answer = ModelResponse { messages, ..ModelResponse::default() };
            now(second.record_response(asked, &answer));
        }
        let quoted = format!("{GOES_ON} So says a book.");
        let other = name(third, &[say("system", "Be brief."), say("user", &quoted)], "work");
        assert!(!names.contains(&other), "{other}");
        for (summary, expected) in summaries.iter().zip(&names) {
            let goes_on = format!("{GOES_ON}\n{summary}");
            let after = [say("system", "Be brief."), say("user", &goes_on)];
            assert_eq!(&name(third, &after, "work"), expected);
        }
    }
}

/// A client may ask beside a long result of a tool, and look for what it was given elsewhere.
#[test]
fn what_asks_for_a_summary_may_stand_behind_a_long_text() {
    let live = hub(&Arc::default(), None);
    let mut asking = talk("a", 3);
    asking.push(say("assistant", "Done."));
    let ask_text = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.";
    asking.push(say("user", &format!("{}{ask_text}", "All of the tests pass. ".repeat(9_000))));
    assert!(sent(&live, &ask(&asking, "work")).compacts());
    asking.pop();
    asking.push(say("user", "Sum up."));
    assert!(!sent(&live, &ask(&asking, "work")).compacts());
}
