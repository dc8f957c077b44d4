//! `epitome ab --html`: the comparison as one page with charts.
//!
//! Invariant: a function of what was compared; the page loads nothing and runs no script. Nothing
//! stands in it that the JSON lines do not hold. Called by `ab`.

mod chart;
mod text;

use epitome_lab::{
    ComparisonResult, EvalRow, MeanInterval, Strategy, StrategyMeans, StrategySummary, WorkKind,
};

use self::chart::{Axis, Dot, curve, scatter};
use self::text::{escaped, spoken};
use crate::figure::short;
use crate::text::counted;

const STYLE: &str = include_str!("style.css");
/// Colours that the style sheet has for profiles; the baselines are grey.
const COLORS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const PLAIN: &str = "plain";
/// So many conversations are drawn turn by turn: those with the most requests.
const DRAWN: usize = 12;

/// A comparison as a page; `about` says what was compared, and how.
pub(super) fn page(compared: &ComparisonResult, about: &str) -> String {
    let page = ChartPage { compared, classes: classes(&compared.summaries) };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Strategies compared · Epitome</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<header><h1>Strategies compared</h1><p class=\"quiet\">{}</p></header>\n",
        escaped(about),
    );
    page.overview(&mut out);
    page.figures(&mut out);
    page.turns(&mut out);
    page.conversations(&mut out);
    out.push_str(FOOTER);
    out
}

const FOOTER: &str = "<footer class=\"quiet\"><b>score</b>: what is asked later and still stands in \
    the last prompt with its surroundings; 0 where that prompt cannot be sent. <b>+recall</b>: or \
    is found by one search. <b>constraints</b> of people and must-keep facts (<b>kept</b>) that the \
    prompt still says. <b>tokens</b> of the last prompts. <b>cost</b> of all prompts under the \
    provider's cache, against no compression. No model judges.</footer>\n</main>\n</body>\n</html>\n";

/// The colour of each profile, in their order.
fn classes(summaries: &[StrategySummary]) -> Vec<&'static str> {
    let mut colors = COLORS.into_iter().cycle();
    let class = |summary: &StrategySummary| match is_baseline(&summary.profile) {
        true => PLAIN,
        false => colors.next().unwrap_or(PLAIN),
    };
    summaries.iter().map(class).collect()
}

fn is_baseline(name: &str) -> bool {
    Strategy::baseline(name).is_some()
}

struct ChartPage<'a> {
    compared: &'a ComparisonResult,
    classes: Vec<&'static str>,
}

impl ChartPage<'_> {
    fn summaries(&self) -> impl Iterator<Item = (&'static str, &StrategySummary)> {
        self.classes.iter().copied().zip(&self.compared.summaries)
    }

    fn class(&self, profile: &str) -> &'static str {
        let found = self.summaries().find(|(_, summary)| summary.profile == profile);
        found.map_or(PLAIN, |(class, _)| class)
    }

    /// What is kept against what it takes.
    fn overview(&self, out: &mut String) {
        let costs = self.compared.summaries.iter().all(|one| one.all.cache_cost.is_some());
        let dots: Vec<_> = self
            .summaries()
            .filter_map(|(class, StrategySummary { profile, all, .. })| {
                let tokens = all.tokens_after as f64 / all.cases.max(1) as f64;
                let x = if costs { all.cache_cost? } else { tokens };
                let (name, searched) = (profile.as_str(), all.scores.score_recall);
                Some(Dot { class, name, x, score: all.scores.score?, searched })
            })
            .collect();
        let (axis, below) = match costs {
            true => (Axis::Share, "cost of all prompts, against no compression"),
            false => (Axis::Tokens, "tokens of a prompt, on average"),
        };
        out.push_str(&format!("<section class=\"card scroll\"><h2>What is kept, and what it takes</h2>\n<p class=\"quiet\">\
             Filled: what the prompt still says. Ring: with one search. Line: the 95 % interval, \
             where there are several conversations. Up and to the left is better.</p>\n{}\n\
             </section>\n",
            scatter(&dots, axis, below)));
    }

    /// The table, with a bar below each share.
    fn figures(&self, out: &mut String) {
        let played = self.compared.summaries.iter().any(|one| one.all.compressions.is_some());
        out.push_str(
            "<section class=\"card scroll\"><h2>Figures</h2>\n<table>\n<thead><tr><th>profile</th>\
             <th>score</th><th>+recall</th><th>constraints</th><th>kept</th>\
             <th class=\"number\">tokens</th><th class=\"number\">cannot be sent</th>",
        );
        if played {
            out.push_str("<th class=\"number\">compressions</th><th class=\"number\">cost</th>");
        }
        out.push_str("</tr></thead>\n");
        for (name, of) in self.parts() {
            let columns = if played { 9 } else { 7 };
            let first = self.compared.summaries.iter().find_map(of);
            let about = first.map_or_else(String::new, |means| {
                let cases = counted(means.cases as u64, "conversation");
                format!("{name}: {cases}, {}", counted(means.n as u64, "question"))
            });
            out.push_str(&format!("<tbody class=\"group\"><tr><td class=\"about\" colspan=\"{columns}\">{about}</td></tr>\n"));
            let best =
                [|it: &StrategyMeans| it.scores.score, |it: &StrategyMeans| it.scores.score_recall]
                    .map(|figure| {
                        let all = self.compared.summaries.iter().filter_map(of).filter_map(figure);
                        all.map(|it| it.mean).fold(f64::MIN_POSITIVE, f64::max)
                    });
            for (class, summary) in self.summaries() {
                let Some(means) = of(summary) else { continue };
                out.push_str(&format!("<tr>{}", strategy(class, &summary.profile)));
                scored(out, class, means.scores.score, best[0]);
                scored(out, class, means.scores.score_recall, best[1]);
                shared(out, class, means.scores.constraints);
                shared(out, class, means.kept);
                number(out, short(means.tokens_after));
                number(out, means.invalid.to_string());
                if played {
                    number(out, or_dash(means.compressions));
                    number(out, or_dash(means.cache_cost.map(|cost| format!("{cost:.2}"))));
                }
                out.push_str("</tr>\n");
            }
            out.push_str("</tbody>\n");
        }
        out.push_str("</table></section>\n");
    }

    /// The kinds of work, and all of them where there are several.
    fn parts(&self) -> Vec<(&'static str, MeansOf)> {
        let has = |group: &WorkKind| {
            self.compared.summaries.iter().any(|summary| summary.groups.contains_key(group))
        };
        let groups: Vec<_> = WorkKind::ALL.into_iter().filter(has).collect();
        let mut parts: Vec<(_, MeansOf)> =
            groups.iter().map(|group| (group.name(), of(*group))).collect();
        if groups.len() > 1 {
            parts.push(("all", |summary| Some(&summary.all)));
        }
        parts
    }

    /// The prompts of the longest conversations, turn by turn.
    fn turns(&self, out: &mut String) {
        let turns = |rows: &[&EvalRow]| {
            rows.iter().filter_map(|row| row.played.as_ref()).map(|it| it.prompts.len()).max()
        };
        let mut played: Vec<_> = self.by_conversation().into_iter().collect();
        played.retain(|(_, rows)| turns(rows).is_some_and(|turns| turns > 1));
        if played.is_empty() {
            return;
        }
        played.sort_by_key(|(_, rows)| std::cmp::Reverse(turns(rows)));
        out.push_str(
            "<section class=\"card\"><h2>Turn by turn</h2>\n<p class=\"quiet\">Tokens of each \
             prompt as it was sent; a fall is a compression. Grey: without any. Dashed: the \
             limit.</p>\n",
        );
        for (id, rows) in played.iter().take(DRAWN) {
            out.push_str(&format!("<h3>{}</h3>\n<div class=\"panels\">\n", escaped(id)));
            self.panels(out, rows);
            out.push_str("</div>\n");
        }
        if let Some(left) = played.len().checked_sub(DRAWN).filter(|left| *left > 0) {
            let shorter = counted(left as u64, "shorter conversation");
            out.push_str(&format!("<p class=\"quiet\">{shorter} not drawn.</p>\n"));
        }
        out.push_str("</section>\n");
    }

    /// A small drawing for each strategy that compresses.
    fn panels(&self, out: &mut String, rows: &[&EvalRow]) {
        let played =
            || rows.iter().filter_map(|row| Some((row.profile.as_str(), row.played.as_ref()?)));
        let never = Strategy::None;
        let raw = played().find(|(name, _)| *name == never.name());
        let raw = raw.map_or(&[][..], |(_, played)| &played.prompts);
        for (name, played) in played().filter(|(name, _)| *name != never.name()) {
            let made = counted(played.compressions as u64, "compression");
            out.push_str(&format!(
                "<figure class=\"{}\"><figcaption><b>{}</b> <span class=\"quiet\">{made}, at most \
                 {} tokens</span></figcaption>{}</figure>\n",
                self.class(name),
                escaped(name),
                short(played.max_tokens_sent),
                curve(&played.prompts, raw, played.limit)
            ));
        }
    }

    /// Every conversation with its rows, and why prompts cannot be sent.
    fn conversations(&self, out: &mut String) {
        out.push_str("<section class=\"card scroll\"><h2>Conversations</h2>\n");
        for (id, rows) in self.by_conversation() {
            let first = rows.first();
            let before = first.map_or(0, |row| row.tokens.before);
            let asked = first.map_or(0, |row| row.score.n as u64);
            out.push_str(&format!(
                "<details><summary>{} <span class=\"quiet\">{} tokens, {}</span></summary>\n<table>\
                 <thead><tr><th>profile</th><th>score</th><th>+recall</th><th>kept</th>\
                 <th class=\"number\">tokens</th><th></th></tr></thead><tbody>\n",
                escaped(id),
                short(before),
                counted(asked, "question")
            ));
            for row in rows {
                let class = self.class(&row.profile);
                out.push_str(&format!("<tr>{}", strategy(class, &row.profile)));
                shared(out, class, row.score.headline());
                shared(out, class, row.score.recall_search);
                shared(out, class, Some(row.must_keep.share()));
                number(out, short(row.tokens.after));
                let faults = escaped(&row.faults.join("; "));
                out.push_str(&format!("<td class=\"bad\">{faults}</td></tr>\n"));
            }
            out.push_str("</tbody></table></details>\n");
        }
        out.push_str("</section>\n");
    }

    /// The rows of each conversation, in the order in which they were compared.
    fn by_conversation(&self) -> Vec<(&str, Vec<&EvalRow>)> {
        let mut out: Vec<(&str, Vec<&EvalRow>)> = Vec::new();
        for row in &self.compared.rows {
            match out.iter_mut().find(|(id, _)| *id == row.id) {
                Some((_, rows)) => rows.push(row),
                None => out.push((&row.id, vec![row])),
            }
        }
        out
    }
}

/// Picks the means of a part out of a summary.
type MeansOf = fn(&StrategySummary) -> Option<&StrategyMeans>;

fn of(group: WorkKind) -> MeansOf {
    match group {
        WorkKind::Chat => |summary| summary.groups.get(&WorkKind::Chat),
        WorkKind::Coding => |summary| summary.groups.get(&WorkKind::Coding),
        WorkKind::Service => |summary| summary.groups.get(&WorkKind::Service),
    }
}

fn strategy(class: &str, name: &str) -> String {
    format!("<td class=\"strategy {class}\"><i></i><b>{}</b></td>", escaped(name))
}

fn scored(out: &mut String, class: &str, figure: Option<MeanInterval>, best: f64) {
    let Some(estimate) = figure else { return shared(out, class, None) };
    let best = if estimate.mean >= best { " best" } else { "" };
    let spoken = spoken(estimate);
    cell(out, &format!("{class}{best}"), &format!(" title=\"{spoken}\""), estimate.mean);
}

fn shared(out: &mut String, class: &str, figure: Option<f64>) {
    match figure {
        Some(share) => cell(out, class, "", share),
        None => out.push_str("<td class=\"share\">–</td>"),
    }
}

fn cell(out: &mut String, class: &str, more: &str, share: f64) {
    out.push_str(&format!(
        "<td class=\"share {class}\"{more}><b>{share:.3}</b><div><div style=\"width:{:.1}%\"></div>\
         </div></td>",
        share * 100.0
    ));
}

fn number(out: &mut String, figure: String) {
    out.push_str(&format!("<td class=\"number\">{figure}</td>"));
}

fn or_dash(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}

#[cfg(test)]
mod tests {
    use epitome_lab::{EvalRow, EvalScore, ReplayFigures, RowTokens};

    use super::*;

    fn row(profile: &str, prompts: &[u64], recall: f64) -> EvalRow {
        EvalRow {
            profile: profile.to_owned(),
            id: "talk<1>".to_owned(),
            source: "own".to_owned(),
            group: WorkKind::Coding,
            tokens: RowTokens {
                before: 9000,
                after: prompts.last().copied().unwrap_or_default(),
                pinned: 100,
            },
            faults: if recall > 0.0 { Vec::new() } else { vec!["over \"budget\"".to_owned()] },
            score: EvalScore { n: 4, recall: Some(recall), ..EvalScore::default() },
            must_keep: Default::default(),
            lost: 0,
            played: Some(ReplayFigures {
                prompts: prompts.to_vec(),
                limit: 1000,
                ..ReplayFigures::default()
            }),
            elapsed_ms: 1.0,
        }
    }

    fn drawn(rows: Vec<EvalRow>) -> String {
        let mut names: Vec<_> = rows.iter().map(|row| row.profile.clone()).collect();
        names.dedup();
        let of = |name: &String| {
            let rows: Vec<_> = rows.iter().filter(|row| row.profile == *name).collect();
            StrategySummary::of(name, "b3:0", &rows)
        };
        let summaries = names.iter().map(of).collect();
        page(&ComparisonResult { rows, summaries, ..ComparisonResult::default() }, "so & so")
    }

    #[test]
    fn the_page_shows_every_strategy_and_loads_nothing() {
        let rows =
            vec![row("default", &[500, 900, 400], 0.75), row("none", &[500, 900, 1400], 0.0)];
        let page = drawn(rows);
        for part in
            ["so &amp; so", "talk&lt;1&gt;", "over &quot;budget&quot;", "0.750", "Turn by turn"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        for (class, name) in [("c0", "default"), ("plain", "none")] {
            let cell = format!("<td class=\"strategy {class}\"><i></i><b>{name}</b></td>");
            assert_eq!(
                page.matches(&cell).count(),
                2,
                "{name}: in the figures and the conversation"
            );
        }
        let panels = page.matches("<svg class=\"panel\"").count();
        assert_eq!((panels, page.matches("<figure class=\"c0\">").count()), (1, 1), "{page}");
        for outside in ["<script", "http:", "https:", "url(", "src="] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn what_was_compressed_once_has_no_turns() {
        let rows = vec![EvalRow { played: None, ..row("default", &[400], 0.75) }];
        let page = drawn(rows);
        assert!(!page.contains("Turn by turn") && !page.contains("compressions</th>"), "{page}");
        assert!(page.contains("tokens of a prompt, on average"), "{page}");
    }
}
