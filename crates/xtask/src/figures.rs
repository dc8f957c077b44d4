//! `cargo xtask figures CASES [PROGRAM]`: the table of the README that compares the shipped policies.
//!
//! Invariant: each figure is one that `epitome ab --json` printed, to two places; only what stands
//! between the marks is written. Called by `main`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const README: &str = "README.md";
/// What stands before the table and behind it.
const MARKS: [&str; 2] = ["<!-- cargo xtask figures CASES -->\n", "<!-- figures -->\n"];

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];
/// A baseline that every comparison has.
const BASELINE: &str = "truncate";
const GROUPS: [&str; 3] = ["coding", "service", "chat"];
const RATIOS: [&str; 3] = ["2", "4", "8"];

const HEAD: &str = "\
| at a half, a quarter, an eighth | coding | service | chats | orders of people |
| --- | --- | --- | --- | --- |
";

/// Compares the policies on prepared cases or recordings, and writes the table anew. `program` is
/// one that is built already.
///
/// # Errors
///
/// When the program cannot be built or fails, or the README has no place for the table.
#[expect(clippy::disallowed_methods, reason = "this tool writes into the tree it is for")]
pub(crate) fn run(cases: &str, program: Option<&str>) -> Result<()> {
    let summaries = RATIOS.map(|ratio| summaries(cases, ratio, program));
    let summaries = summaries.into_iter().collect::<Result<Vec<_>>>()?;
    let readme = fs::read_to_string(README).with_context(|| format!("{README} is not here"))?;
    fs::write(README, placed(&readme, &table(&summaries)?)?).context(README)
}

/// What the policies come to at a ratio, an object for each.
fn summaries(cases: &str, ratio: &str, program: Option<&str>) -> Result<Vec<Value>> {
    ensure!(Path::new(cases).exists(), "{cases}: no such file or folder");
    let mut command = Command::new(program.unwrap_or("cargo"));
    if program.is_none() {
        command.args(["run", "--quiet", "--release", "--package", "epitome-cli", "--"]);
    }
    let profiles = PROFILES.join(",");
    command.args(["ab", "--json", "--quiet", "--profiles", &profiles, "--ratio", ratio, cases]);
    let ran = command.stderr(Stdio::inherit()).output().context("epitome cannot be run")?;
    ensure!(ran.status.success(), "epitome ab ended with {}", ran.status);
    let lines = std::str::from_utf8(&ran.stdout)?.lines().map(serde_json::from_str);
    let lines = lines.collect::<Result<Vec<Value>, _>>()?;
    Ok(lines.into_iter().filter(|line| line["summary"] == true).collect())
}

/// The table: a row for each policy, and in each cell a figure for each ratio.
fn table(summaries: &[Vec<Value>]) -> Result<String> {
    let mut out = HEAD.to_owned();
    for profile in PROFILES.into_iter().chain([BASELINE]) {
        let of_profile = |all: &Vec<Value>| all.iter().find(|it| it["profile"] == profile).cloned();
        let found: Option<Vec<Value>> = summaries.iter().map(of_profile).collect();
        let Some(found) = found else { bail!("no figures of {profile}") };
        let cell = |figure: &dyn Fn(&Value) -> Option<f64>| {
            let figures = found.iter().map(|it| figure(it).map(|it| format!("{it:.2}")));
            let figures = figures.map(|it| it.unwrap_or_else(|| "–".to_owned()));
            figures.collect::<Vec<_>>().join(" / ")
        };
        let group = |name| cell(&|it| it["groups"][name]["score"]["mean"].as_f64());
        let mut cells = GROUPS.map(group).to_vec();
        cells.push(cell(&|it| it["all"]["directives"].as_f64()));
        out.push_str(&format!("| `{profile}` | {} |\n", cells.join(" | ")));
    }
    Ok(out)
}

/// The text with the table between the marks.
fn placed(text: &str, table: &str) -> Result<String> {
    let parts = text.split_once(MARKS[0]);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?.1)));
    let Some((before, after)) = parts else {
        bail!("{README} has no place for the table: {:?} and {:?} around it", MARKS[0], MARKS[1]);
    };
    Ok([before, MARKS[0], table, MARKS[1], after].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_policy_has_a_row_and_each_ratio_a_figure() {
        let of = |score: f64| {
            let one = |profile: &str| {
                let means = json!({"score": {"mean": score}});
                json!({"profile": profile, "groups": {"coding": means, "service": means},
                    "all": {"directives": 1.0}})
            };
            PROFILES.into_iter().chain([BASELINE]).map(one).collect::<Vec<_>>()
        };
        let found = table(&[of(0.999), of(0.5), of(0.254)]).unwrap();
        let row = "| `tiered` | 1.00 / 0.50 / 0.25 | 1.00 / 0.50 / 0.25 | – / – / – | 1.00 / 1.00 / 1.00 |";
        assert!(found.lines().any(|line| line == row), "{found}");
        assert_eq!(found.lines().count(), 2 + PROFILES.len() + 1);
        assert!(table(&[Vec::new()]).is_err());
    }

    #[test]
    fn only_what_stands_between_the_marks_is_written() {
        let [begin, end] = MARKS;
        let text = format!("a\n{begin}old\n{end}b\n");
        assert_eq!(placed(&text, "new\n").unwrap(), format!("a\n{begin}new\n{end}b\n"));
        assert!(placed("a\n", "new\n").is_err());
    }

    #[test]
    fn the_readme_has_a_place_for_the_table() {
        let readme = include_str!("../../../README.md");
        assert!(placed(readme, "").unwrap().len() < readme.len(), "nothing stands there");
    }
}
