//! `cargo xtask figures CASES [PROGRAM]`: the tables of the README that say how good the program is,
//! and how its policies compare.
//!
//! Invariant: each figure is one that `epitome ab --json` printed, to two places; only what stands
//! between the marks is written. Called by `main`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const README: &str = "README.md";
/// What stands before a table; its name comes first.
const BEGINS: &str = " by cargo xtask figures CASES -->\n";
/// What stands behind a table.
const ENDS: &str = "<!-- figures -->\n";
/// The tables.
const OVERALL: &str = "overall";
const POLICIES: &str = "policies";

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];
/// A baseline that every comparison has.
const BASELINE: &str = "truncate";
const GROUPS: [&str; 3] = ["coding", "service", "chat"];
const RATIOS: [&str; 3] = ["2", "4", "8"];

const OVERALL_HEAD: &str = "\
| what is kept, at | half | a quarter | an eighth |
| --- | --- | --- | --- |
";
const POLICIES_HEAD: &str = "\
| at a half, a quarter, an eighth | coding | service | chats | orders of people |
| --- | --- | --- | --- | --- |
";

/// Compares the policies on prepared cases or recordings, and writes the tables anew. `program` is
/// one that is built already.
///
/// # Errors
///
/// When the program cannot be built or fails, or the README has no place for a table.
#[expect(clippy::disallowed_methods, reason = "this tool writes into the tree it is for")]
pub(crate) fn run(cases: &str, program: Option<&str>) -> Result<()> {
    let at_ratios = |profiles: &[&str], more: &[&str]| -> Result<Vec<Vec<Value>>> {
        RATIOS.iter().map(|ratio| summaries(cases, ratio, profiles, more, program)).collect()
    };
    let all = at_ratios(&PROFILES, &[])?;
    let brief = at_ratios(&PROFILES[..1], &["--style", "brief"])?;
    let readme = fs::read_to_string(README).with_context(|| format!("{README} is not here"))?;
    let readme = placed(&readme, OVERALL, &overall(&all, &brief)?)?;
    fs::write(README, placed(&readme, POLICIES, &policies(&all)?)?).context(README)
}

/// What the policies come to at a ratio, an object for each.
fn summaries(
    cases: &str,
    ratio: &str,
    profiles: &[&str],
    more: &[&str],
    program: Option<&str>,
) -> Result<Vec<Value>> {
    ensure!(Path::new(cases).exists(), "{cases}: no such file or folder");
    let mut command = Command::new(program.unwrap_or("cargo"));
    if program.is_none() {
        command.args(["run", "--quiet", "--release", "--package", "epitome-cli", "--"]);
    }
    let profiles = profiles.join(",");
    command.args(["ab", "--json", "--quiet", "--profiles", &profiles, "--ratio", ratio]);
    command.args(more).arg(cases);
    let ran = command.stderr(Stdio::inherit()).output().context("epitome cannot be run")?;
    ensure!(ran.status.success(), "epitome ab ended with {}", ran.status);
    let lines = std::str::from_utf8(&ran.stdout)?.lines().map(serde_json::from_str);
    let lines = lines.collect::<Result<Vec<Value>, _>>()?;
    Ok(lines.into_iter().filter(|line| line["summary"] == true).collect())
}

/// What the profile that most people use keeps, in short prose and with a recall too.
fn overall(all: &[Vec<Value>], brief: &[Vec<Value>]) -> Result<String> {
    let first = PROFILES[0];
    let [epitome, brief, oldest] = [(all, first), (brief, first), (all, BASELINE)];
    let score = |it: &Value| it["all"]["score"]["mean"].as_f64();
    let search = |it: &Value| it["all"]["score_search"]["mean"].as_f64();
    let orders = |it: &Value| it["all"]["directives"].as_f64();
    let mut out = OVERALL_HEAD.to_owned();
    let mut row = |name: &str, (all, profile), figure: &dyn Fn(&Value) -> Option<f64>| {
        let cells = figures(&of_profile(all, profile)?, figure).join(" | ");
        out.push_str(&format!("| {name} | {cells} |\n"));
        anyhow::Ok(())
    };
    row("Epitome", epitome, &score)?;
    row("Epitome, `--style brief`", brief, &score)?;
    row("Epitome, and one `recall` of 1,000 tokens", epitome, &search)?;
    row("dropping the oldest messages", oldest, &score)?;
    row("orders of people that Epitome keeps", epitome, &orders)?;
    Ok(out)
}

/// A row for each policy, and in each cell a figure for each ratio.
fn policies(all: &[Vec<Value>]) -> Result<String> {
    let mut out = POLICIES_HEAD.to_owned();
    for profile in PROFILES.into_iter().chain([BASELINE]) {
        let found = of_profile(all, profile)?;
        let cell = |figure: &dyn Fn(&Value) -> Option<f64>| figures(&found, figure).join(" / ");
        let group = |name| cell(&|it| it["groups"][name]["score"]["mean"].as_f64());
        let mut cells = GROUPS.map(group).to_vec();
        cells.push(cell(&|it| it["all"]["directives"].as_f64()));
        out.push_str(&format!("| `{profile}` | {} |\n", cells.join(" | ")));
    }
    Ok(out)
}

/// What a profile comes to at each ratio.
fn of_profile<'v>(all: &'v [Vec<Value>], profile: &str) -> Result<Vec<&'v Value>> {
    let found = |all: &'v Vec<Value>| all.iter().find(|it| it["profile"] == profile);
    let found: Option<_> = all.iter().map(found).collect();
    found.with_context(|| format!("no figures of {profile}"))
}

/// A figure at each ratio, as it is written.
fn figures(found: &[&Value], figure: &dyn Fn(&Value) -> Option<f64>) -> Vec<String> {
    let written = |it: &&Value| figure(it).map_or_else(|| "–".to_owned(), |it| format!("{it:.2}"));
    found.iter().map(written).collect()
}

/// The text with a table between its marks.
fn placed(text: &str, name: &str, table: &str) -> Result<String> {
    let begins = format!("<!-- {name}{BEGINS}");
    let parts = text.split_once(&begins);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(ENDS)?.1)));
    let Some((before, after)) = parts else {
        bail!("{README} has no place for a table: {begins:?} and {ENDS:?} around it");
    };
    Ok([before, &begins, table, ENDS, after].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at_ratios(scores: [f64; 3]) -> Vec<Vec<Value>> {
        let of = |score: f64| {
            let one = |profile: &str| {
                let means = json!({"score": {"mean": score}, "score_search": {"mean": 1.0},
                    "directives": 0.5});
                let groups = json!({"coding": means, "service": means});
                json!({"profile": profile, "groups": groups, "all": means})
            };
            PROFILES.into_iter().chain([BASELINE]).map(one).collect()
        };
        scores.map(of).to_vec()
    }

    #[test]
    fn each_policy_has_a_row_and_each_ratio_a_figure() {
        let found = policies(&at_ratios([0.999, 0.5, 0.254])).unwrap();
        let row = "| `tiered` | 1.00 / 0.50 / 0.25 | 1.00 / 0.50 / 0.25 | – / – / – | 0.50 / 0.50 / 0.50 |";
        assert!(found.lines().any(|line| line == row), "{found}");
        assert_eq!(found.lines().count(), 2 + PROFILES.len() + 1);
        assert!(policies(&[Vec::new()]).is_err());
    }

    #[test]
    fn what_is_kept_in_all_stands_in_a_column_for_each_ratio() {
        let [all, brief] = [[0.999, 0.5, 0.254], [0.9, 0.8, 0.7]].map(at_ratios);
        let expected = OVERALL_HEAD.to_owned()
            + "| Epitome | 1.00 | 0.50 | 0.25 |\n\
               | Epitome, `--style brief` | 0.90 | 0.80 | 0.70 |\n\
               | Epitome, and one `recall` of 1,000 tokens | 1.00 | 1.00 | 1.00 |\n\
               | dropping the oldest messages | 1.00 | 0.50 | 0.25 |\n\
               | orders of people that Epitome keeps | 0.50 | 0.50 | 0.50 |\n";
        assert_eq!(overall(&all, &brief).unwrap(), expected);
        assert!(overall(&all, &[Vec::new()]).is_err());
    }

    #[test]
    fn only_what_stands_between_the_marks_is_written() {
        let text = |table| format!("a\n<!-- one{BEGINS}{table}{ENDS}b\n");
        assert_eq!(placed(&text("old\n"), "one", "new\n").unwrap(), text("new\n"));
        assert!(placed(&text("old\n"), "two", "new\n").is_err());
    }

    #[test]
    fn the_readme_has_a_place_for_the_tables() {
        let readme = include_str!("../../../README.md");
        for name in [OVERALL, POLICIES] {
            assert!(placed(readme, name, "").unwrap().len() < readme.len(), "nothing stands there");
        }
    }
}
