//! `cargo xtask figures CASES OTHERS [PROGRAM]`: the tables of the manual that say how good the
//! program is and how its policies compare, and the chart beside them.
//!
//! Invariant: each figure is one that `epitome ab --json` printed, to two places; only what stands
//! between the marks is written, and the chart is drawn from the table. Called by `main`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::chart;

const FRONT_PAGE: &str = "README.md";
const LAB_PAGE: &str = "crates/epitome-lab/README.md";
const CHART: &str = "crates/epitome-cli/assets/compare.svg";
/// Opens a table, behind its name.
const BEGINS: &str = " by cargo xtask figures -->\n";
/// Closes a table.
const ENDS: &str = "<!-- figures -->\n";
/// The tables of the front page: of the conversations that the weights were chosen on, and of others.
const FRONT: &str = "front";
const OTHERS: &str = "others";
/// The tables of the lab's page.
const OVERALL: &str = "overall";
const POLICIES: &str = "policies";

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];
/// A baseline that every comparison has.
const BASELINE: &str = "truncate";
const GROUPS: [&str; 3] = ["coding", "service", "chat"];
const RATIOS: [&str; 3] = ["2", "4", "8"];

const RULE: &str = "| --- | --- | --- | --- |\n";
const FRONT_HEAD: &str = "| needed later and kept, at | half | a quarter | an eighth |\n";
const OTHERS_HEAD: &str = "| other conversations, at | half | a quarter | an eighth |\n";
const OVERALL_HEAD: &str = "| kept, at | half | a quarter | an eighth |\n";
const POLICIES_HEAD: &str = "\
| at a half, a quarter, an eighth | coding | service | chats | constraints of people |
| --- | --- | --- | --- | --- |
";

/// Compares the policies on prepared cases or recordings, and writes the tables and the chart.
/// `others` are conversations that no weight was chosen on; `program` is one that is built already.
///
/// # Errors
///
/// When the program cannot be built or fails, or a page has no place for a table.
#[expect(clippy::disallowed_methods, reason = "this tool writes into the tree it is for")]
pub(crate) fn run(cases: &str, others: &str, program: Option<&str>) -> Result<()> {
    let at_ratios = |cases: &str, profiles: &[&str], more: &[&str]| -> Result<Vec<Vec<Value>>> {
        RATIOS.iter().map(|ratio| summaries(cases, ratio, profiles, more, program)).collect()
    };
    let others = front(OTHERS_HEAD, &at_ratios(others, &PROFILES[..1], &[])?)?;
    let all = at_ratios(cases, &PROFILES, &[])?;
    let brief = at_ratios(cases, &PROFILES[..1], &["--style", "brief"])?;
    let first = front(FRONT_HEAD, &all)?;
    write_tables(FRONT_PAGE, &[(FRONT, &first), (OTHERS, &others)])?;
    write_tables(LAB_PAGE, &[(OVERALL, &overall(&all, &brief)?), (POLICIES, &policies(&all)?)])?;
    fs::write(CHART, chart::draw(&chart::rows(&first)?)).context(CHART)
}

/// Puts tables between their marks in a page.
#[expect(clippy::disallowed_methods, reason = "this tool writes into the tree it is for")]
fn write_tables(page: &str, tables: &[(&str, &str)]) -> Result<()> {
    let mut text = fs::read_to_string(page).with_context(|| format!("{page} is not here"))?;
    for (name, table) in tables {
        text = placed(&text, name, table).with_context(|| page.to_owned())?;
    }
    fs::write(page, text).with_context(|| page.to_owned())
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

/// A figure of a profile's summary.
type Figure = fn(&Value) -> Option<f64>;

fn score(of: &Value) -> Option<f64> {
    of["all"]["score"]["mean"].as_f64()
}

fn searched(of: &Value) -> Option<f64> {
    of["all"]["score_recall"]["mean"].as_f64()
}

fn constraints(of: &Value) -> Option<f64> {
    of["all"]["constraints"].as_f64()
}

const WITH_RECALL: &str = "Epitome and one `recall` of 1,000 tokens";
const OLDEST: &str = "dropping the oldest messages";

/// The three rows that the front page shows, below this heading.
fn front(head: &str, all: &[Vec<Value>]) -> Result<String> {
    let rows: [(&str, &str, Figure); 3] = [
        ("Epitome", PROFILES[0], score),
        (WITH_RECALL, PROFILES[0], searched),
        (OLDEST, BASELINE, score),
    ];
    let mut out = [head, RULE].concat();
    for (name, profile, figure) in rows {
        out.push_str(&row(name, all, profile, figure)?);
    }
    Ok(out)
}

/// What the profile that most people use keeps, in short prose and with a recall too.
fn overall(all: &[Vec<Value>], brief: &[Vec<Value>]) -> Result<String> {
    let first = PROFILES[0];
    let rows: [(&str, &[Vec<Value>], &str, Figure); 5] = [
        ("Epitome", all, first, score),
        ("Epitome, `--style brief`", brief, first, score),
        (WITH_RECALL, all, first, searched),
        (OLDEST, all, BASELINE, score),
        ("constraints of people that Epitome keeps", all, first, constraints),
    ];
    let mut out = [OVERALL_HEAD, RULE].concat();
    for (name, all, profile, figure) in rows {
        out.push_str(&row(name, all, profile, figure)?);
    }
    Ok(out)
}

/// A row of a table with a column for each ratio.
fn row(name: &str, all: &[Vec<Value>], profile: &str, figure: Figure) -> Result<String> {
    let cells = figures(&of_profile(all, profile)?, &figure).join(" | ");
    Ok(format!("| {name} | {cells} |\n"))
}

/// A row for each policy, and in each cell a figure for each ratio.
fn policies(all: &[Vec<Value>]) -> Result<String> {
    let mut out = POLICIES_HEAD.to_owned();
    for profile in PROFILES.into_iter().chain([BASELINE]) {
        let found = of_profile(all, profile)?;
        let cell = |figure: &dyn Fn(&Value) -> Option<f64>| figures(&found, figure).join(" / ");
        let group = |name| cell(&|it| it["groups"][name]["score"]["mean"].as_f64());
        let mut cells = GROUPS.map(group).to_vec();
        cells.push(cell(&constraints));
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
        bail!("no place for a table: {begins:?} and {ENDS:?} around it");
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
                let means = json!({"score": {"mean": score}, "score_recall": {"mean": 1.0},
                    "constraints": 0.5});
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
        let expected = [OVERALL_HEAD, RULE].concat()
            + "| Epitome | 1.00 | 0.50 | 0.25 |\n\
               | Epitome, `--style brief` | 0.90 | 0.80 | 0.70 |\n\
               | Epitome and one `recall` of 1,000 tokens | 1.00 | 1.00 | 1.00 |\n\
               | dropping the oldest messages | 1.00 | 0.50 | 0.25 |\n\
               | constraints of people that Epitome keeps | 0.50 | 0.50 | 0.50 |\n";
        assert_eq!(overall(&all, &brief).unwrap(), expected);
        assert!(overall(&all, &[Vec::new()]).is_err());
        let expected = [FRONT_HEAD, RULE].concat()
            + "| Epitome | 1.00 | 0.50 | 0.25 |\n\
               | Epitome and one `recall` of 1,000 tokens | 1.00 | 1.00 | 1.00 |\n\
               | dropping the oldest messages | 1.00 | 0.50 | 0.25 |\n";
        assert_eq!(front(FRONT_HEAD, &all).unwrap(), expected);
    }

    #[test]
    fn only_what_stands_between_the_marks_is_written() {
        let text = |table| format!("a\n<!-- one{BEGINS}{table}{ENDS}b\n");
        assert_eq!(placed(&text("old\n"), "one", "new\n").unwrap(), text("new\n"));
        assert!(placed(&text("old\n"), "two", "new\n").is_err());
    }

    const PAGES: [(&str, [&str; 2]); 2] = [
        (include_str!("../../../README.md"), [FRONT, OTHERS]),
        (include_str!("../../epitome-lab/README.md"), [OVERALL, POLICIES]),
    ];

    #[test]
    fn the_pages_have_a_place_for_the_tables() {
        for (page, names) in PAGES {
            for name in names {
                let emptied = placed(page, name, "").unwrap();
                assert!(emptied.len() < page.len(), "nothing stands there");
            }
        }
    }

    #[test]
    fn the_chart_shows_the_table_of_the_front_page() {
        let begins = format!("<!-- {FRONT}{BEGINS}");
        let table = PAGES[0].0.split_once(&begins).and_then(|(_, rest)| rest.split_once(ENDS));
        let drawn = chart::draw(&chart::rows(table.unwrap().0).unwrap());
        assert_eq!(drawn, include_str!("../../epitome-cli/assets/compare.svg"));
    }
}
