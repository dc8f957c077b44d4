//! `staged`: asked by level, mode and class (RULES 27, 29, 25).

use super::stand;
use super::tape::{play, tideline};

/// A window of class 3, in which 4,000 tokens are the middle of the sizes that there are.
const STANDARD: &str = "[profile.staged.options.staged]\nsizes = [2000, 4000, 8000]\n";

/// "identify, prepare, summarise, checkpoint" (RULES 26): new checkpoints of level 3, and older ones
/// that come down a level in the words that the model has for them, or in new ones where it has none.
#[test]
fn staged_has_checkpoints_written_and_aged() {
    let args = "--prompt-limit 4000 --mode debugger";
    let written = play("staged", "staged", &tideline(52), STANDARD, args);
    let aged = written.told("checkpoint-aged");
    for asked in &written.asked {
        // "debugger: symptoms and stack traces, steps taken, root cause, attempted fixes"; "errors in
        // debugger" word for word, "decisions always".
        let focus = ["symptoms and stack traces", "root cause", "fixes that were attempted"];
        focus.iter().for_each(|words| assert!(asked.told().contains(words), "{}", asked.told()));
        assert!(asked.told().contains("Keep error messages and the code in which the fault lies"));
        assert!(asked.told().contains("very decision"), "{}", asked.told());
        // From what was said, and not from a summary.
        assert!(asked.question().contains("\n\nassistant: "), "{}", asked.question());
    }
    let told = |words: &str| written.asked.iter().filter(|one| one.told().contains(words)).count();
    let new = written.told("compressed").len();
    let to = |level: u64| aged.iter().filter(|(_, event)| event["levels"][1] == level).count();
    assert!(to(2) > 0, "{aged:?}");
    assert!(told("Write a detailed summary: the decisions that were made and why") >= new);
    assert!(stand(&written, true) > 0);
}

/// What each mode dwells on, and what it keeps word for word (RULES 29).
#[track_caller]
fn mode(mode: &str, config: &str, args: &str, messages: usize, words: &[&str]) {
    let args = format!("{args} --mode {mode}");
    let written = play(&format!("staged-{mode}"), "staged", &tideline(messages), config, &args);
    assert_eq!(written.told("compressed").len(), 1);
    let [asked, ..] = &written.asked[..] else { panic!("nothing was asked") };
    let said = format!("{}\n{}", asked.told(), asked.question());
    words.iter().for_each(|words| assert!(said.contains(words), "{words}: {said}"));
    assert!(stand(&written, true) > 0);
}

/// "> 3000 → 1": compact.
#[test]
fn staged_dwells_on_code_in_developer_mode() {
    let config = "[profile.staged.options.staged]\nsizes = [2500, 5000, 9000]\n";
    mode(
        "developer",
        config,
        "--prompt-limit 5000 --from 38",
        77,
        &[
            "a compact summary, of critical information only",
            "code and the paths of files",
            "technical decisions",
            "Keep code that is still needed word for word",
        ],
    );
}

/// "> 2000 → 2": moderate.
#[test]
fn staged_dwells_on_goals_in_planning_mode() {
    mode(
        "planning",
        STANDARD,
        "--prompt-limit 4000 --from 27",
        55,
        &[
            "a moderate summary: the main points",
            "decisions about the architecture",
            "trade-offs",
            "next steps",
            "Keep goals word for word",
        ],
    );
}

/// "4 premium: structured: summary in sections, decisions kept apart" (RULES 25); assistant is the
/// mode where none was asked for.
#[test]
fn staged_wants_sections_in_a_structured_class() {
    let config = "[profile.staged.options.staged]\nsizes = [1, 2, 3, 4000, 5000]\n";
    mode(
        "assistant",
        config,
        "--prompt-limit 4000 --from 15",
        31,
        &[
            "a detailed summary: the decisions that were made and why",
            "key decisions",
            "important context",
            "## Decisions\n\n## State\n\n## Files\n\n## Next steps",
        ],
    );
}

/// "`user` (the team's own words)".
#[test]
fn staged_says_what_the_team_wants_in_user_mode() {
    let config = format!("{STANDARD}focus = \"Dwell on heights and times of the tide.\"\n");
    mode(
        "user",
        &config,
        "--prompt-limit 4000 --from 15",
        31,
        &["Dwell on heights and times of the tide."],
    );
}
