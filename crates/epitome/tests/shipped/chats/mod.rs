//! Chats of 40 turns with a scripted model, in windows of 4K to 128K, under every profile, over SQLite.
//!
//! `cargo test --workspace --test shipped chats -- --nocapture` prints what they came to, and with
//! `CHATS=all` in the environment that of every style of talk in every window:
//!
//! compressions and how often it started over · the least and the median of turns between two · the least
//! and the median share of the conversation that they freed, `!` where two behind each other freed less
//! than a fifth · whether checkpoints came down one level at a time, how many did, how many merged ·
//! prompts with words of the model, of those with a checkpoint · lacks of what stands for good · the fullest
//! prompt in percent of its limit · what it cost beside sending all, and questions to the model.

#![expect(clippy::print_stdout, reason = "the table is for whoever runs it with --nocapture")]

mod chat;
mod words;

use chat::{Outcome, Style, chat};

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];
const SIZES: [u64; 4] = [4096, 8192, 32_768, 131_072];
const TURNS: usize = 40;

/// Tokens of a turn that fill windows alike: 500 at 8K.
fn turn(size: u64) -> usize {
    size as usize / 16
}

fn working(size: u64) -> Style {
    let (read, answer) = (turn(size) * 3 / 5, turn(size) * 2 / 5 - 60);
    Style { name: "work", user: 60, read, answer, keep: "" }
}

fn talking(size: u64) -> Style {
    Style { name: "talk", user: 60, read: 0, answer: turn(size) - 60, keep: "" }
}

/// People who write much, as large as their messages are in any window.
fn writing(_: u64) -> Style {
    Style { name: "long", user: 1500, read: 0, answer: 440, keep: "" }
}

/// The profile keeps a line of four.
fn keeping(size: u64) -> Style {
    Style { name: "kept", keep: "keep = ['(?m)^.* (?:holds|opens|counts) .*$']", ..working(size) }
}

/// The windows that a style is tried in: these, or all of them.
fn sizes(tried: &[u64]) -> Vec<u64> {
    if std::env::var_os("CHATS").is_some() { SIZES.to_vec() } else { tried.to_vec() }
}

fn least(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(list: &[f64]) -> f64 {
    let mut list = list.to_vec();
    list.sort_by(f64::total_cmp);
    list.get(list.len() / 2).copied().unwrap_or(f64::INFINITY)
}

fn row(profile: &str, size: u64, style: &Style) -> Outcome {
    let one = chat(profile, size, style, TURNS);
    let (gaps, freed): (Vec<_>, _) =
        (one.gaps().iter().map(|gap| *gap as f64).collect(), &one.freed);
    let [summed, worded] = one.worded;
    println!(
        "{} {profile:<9} {size:>6} | {:>2} {:>2} | {:>3} {:>3} | {:>3.0} {:>3.0}{} | {:<3} {:>2} {:>2} | \
         {worded:>2}/{summed:>2} | {:>2} | {:>3.0} | {:>4.2} {:>2}",
        style.name,
        one.at.len(),
        one.rollovers,
        least(&gaps),
        median(&gaps),
        100.0 * least(freed),
        100.0 * median(freed),
        if one.is_rapid() { '!' } else { ' ' },
        if one.is_ladder() { "yes" } else { "no" },
        one.levels.len(),
        one.merged.len(),
        one.without.len(),
        100.0 * one.fullest,
        one.cost,
        one.questions,
    );
    one
}

/// What holds of every chat: no prompt is over its limit, none lacks what stands for good, checkpoints come
/// down one level at a time, and no two compressions behind each other free less than a fifth.
fn check(profile: &str, size: u64, style: &Style) -> Outcome {
    let one = row(profile, size, style);
    assert!(one.fullest <= 1.0, "{}", one.fullest);
    assert_eq!(one.without, Vec::<String>::new());
    assert_eq!(one.in_a_row, Vec::<String>::new());
    assert_eq!(one.points, one.at.len());
    assert!(one.is_ladder(), "{:?}", one.levels);
    assert!(!one.is_rapid(), "{:?}", one.freed);
    one
}

#[test]
fn windows_are_alike_to_agents_that_work() {
    for size in SIZES {
        for profile in PROFILES {
            let one = check(profile, size, &working(size));
            let is_marked = profile == "watermark";
            assert!(is_marked || least(&one.freed) >= 0.20, "{:?}", one.freed);
            assert!(is_marked || one.gaps().iter().all(|gap| *gap >= 4), "{:?}", one.gaps());
            let is_aged = |path: &Vec<u8>| path.ends_with(&[1]);
            assert!(profile != "ollm" || size == 4096 || one.levels.values().any(is_aged));
            // In a window of 4K a summary has too little room for words that tell more than an extract.
            let [summed, worded] = one.worded;
            let is_worded = worded * 20 >= summed * 19;
            assert!(size == 4096 || is_worded, "{worded} of {summed}: {:?}", one.refused);
        }
    }
}

#[test]
fn talk_without_tools_is_compressed_as_seldom() {
    for size in sizes(&[8192]) {
        for profile in PROFILES {
            let one = check(profile, size, &talking(size));
            assert!(one.gaps().iter().all(|gap| *gap >= 2), "{:?}", one.gaps());
        }
    }
}

#[test]
fn people_who_write_much_are_not_compressed_for_nothing() {
    for size in sizes(&[32_768]) {
        for profile in PROFILES {
            let one = check(profile, size, &writing(size));
            assert!(one.rollovers == 0 || size == 4096);
        }
    }
    // Where the window holds three turns nothing starts over either.
    assert_eq!(check("ollm", 8192, &writing(8192)).rollovers, 0);
}

#[test]
fn lines_that_are_kept_leave_room_to_go_on() {
    for size in sizes(&[8192]) {
        for profile in PROFILES {
            let one = check(profile, size, &keeping(size));
            assert!(one.at.len() <= 16, "{:?}", one.at);
        }
    }
}
