//! `ollm`, `early` and `default`: whose question is about a part of the conversation and nothing else.

use super::tape::{play, tideline};
use super::{is_written, saying, stand};

/// What level 0, 1, 2 and 3 keep, as `ollm` words it.
const KEEPS: [&str; 4] = [
    "all that is left of the oldest part: its essential context",
    "a compact one: critical information only, and no code",
    "a moderate one: the main points. Name code by file and function",
    "a detailed one: key decisions and the reasons for them, the code that is still needed",
];

/// "Summaries are written by the model" (RULES 21); "Ageing is done by the model, after each
/// compression": to the level it comes to, from what was said (RULES 22).
#[test]
fn ollm_has_checkpoints_written_and_aged_by_level() {
    let config = "[profile.ollm.options.ollm]\nsizes = [1000, 2000, 4000]\n";
    let written = play("ollm", "ollm", &tideline(62), config, "--prompt-limit 2000");
    let (aged, new) = (written.told("checkpoint-aged"), written.told("compressed"));
    let to = |level: usize| aged.iter().filter(|(_, event)| event["levels"][1] == level).count();
    assert!(new.len() >= 3 && to(2) >= 1 && to(1) >= 1, "{} {} {}", new.len(), to(2), to(1));
    for (level, words) in KEEPS.iter().enumerate().skip(1) {
        let asked = saying(&written, words);
        assert!(asked.len() >= to(level), "level {level}: {}", asked.len());
        // New ones behind the conversation itself, which the model has read before; what ages from
        // what was said, which stands in no prompt any more.
        for one in asked {
            assert_eq!(one.messages().len() > 1, level == 3, "{}", one.question());
            assert_eq!(one.question().contains("assistant: "), level < 3, "{}", one.question());
        }
    }
    assert!(stand(&written, false) > 0);
}

/// "Summarise in one pass everything but ..."; the summary "keeps key decisions, unresolved issues
/// and current task state, begins `[SUMMARY]: ` and stands first" (RULES 42).
#[test]
fn early_has_one_summary_written_in_one_pass() {
    let written = play("early", "early", &tideline(42), "", "--prompt-limit 3000");
    for asked in &written.asked {
        for heading in ["Key decisions", "Unresolved issues", "Current state"] {
            assert!(asked.question().contains(heading), "{}", asked.question());
        }
        assert_eq!(asked.messages().len(), 1);
        // From what was said, and not from the summary before.
        assert!(!asked.question().contains("[SUMMARY]"), "{}", asked.question());
        assert!(asked.question().contains("user: Look at how the offset is read."));
    }
    assert!(stand(&written, true) > 0);
    for (turn, _) in written.told("compressed") {
        let messages = written.prompt(turn)["messages"].clone();
        let first = messages[1]["content"].as_str().unwrap();
        assert!(first.contains("[SUMMARY]: "), "{first}");
    }
}

/// "At 80 % emergency trimming without a model" (RULES 42).
#[test]
fn early_asks_no_model_in_an_emergency() {
    let written =
        play("early-emergency", "early", &tideline(31), "", "--prompt-limit 1900 --from 15");
    assert_eq!(written.told("compressed").len(), 1);
    assert_eq!(written.asked.len(), 0);
}

/// A record of what was said, behind the conversation itself; and what it leaves out is said beside
/// it, in the words of the conversation.
#[test]
fn default_asks_for_a_record_behind_the_conversation() {
    let written = play("default", "default", &tideline(46), "", "--prompt-limit 2000");
    for asked in &written.asked {
        let question = asked.question();
        assert!(question.contains("Sum up this part of a conversation"), "{question}");
        assert!(question.contains("up to and with the message that begins: "), "{question}");
        assert!(question.contains("Invent nothing, answer nothing"), "{question}");
    }
    assert!(stand(&written, false) > 0);
    // Where what it writes is no use, there are the words of the conversation alone.
    for (turn, event) in written.told("compressed") {
        let prompt = written.said(turn);
        let has_both = prompt.contains("In the words of the conversation:");
        assert_eq!(has_both, is_written(event), "{event}\n{prompt}");
        assert!(prompt.contains("Never touch data/stations.csv"), "{prompt}");
    }
}
