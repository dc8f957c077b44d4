//! `cargo xtask answers CASES --model ADDRESS`: whether a real model uses what a compressed prompt
//! holds. It asks the model the same questions of the whole conversation, of what Epitome makes of
//! it, and of its newest messages at that size.
//!
//! Invariant: no model judges; an answer counts by the words that it holds, and what was asked before
//! is read from a file. Called by `main`.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

mod asked;
mod gold;
mod interval;
mod prompt;

use asked::AskedModel;
use gold::{Case, Question};
use interval::{Interval, Paired};

/// What the command was told.
struct Told {
    cases: String,
    model: String,
    /// How many questions of chats.
    questions: usize,
    ratio: String,
    /// The largest prompt that is asked, in tokens of the model.
    window: usize,
    /// Where answers are kept.
    kept: String,
    program: Option<String>,
}

impl Told {
    fn of_arguments(arguments: &[&str]) -> Result<Self> {
        let [cases, options @ ..] = arguments else { bail!("no folder of cases") };
        let mut told = Self {
            cases: (*cases).to_owned(),
            model: String::new(),
            questions: 60,
            ratio: "4".to_owned(),
            window: usize::MAX,
            kept: "target/answers.jsonl".to_owned(),
            program: None,
        };
        for pair in options.chunks(2) {
            let [name, value] = pair else { bail!("{}: no value", pair[0]) };
            let value = (*value).to_owned();
            match *name {
                "--model" => told.model = value,
                "--questions" => told.questions = value.parse().context("--questions")?,
                "--ratio" => told.ratio = value,
                "--window" => told.window = value.parse().context("--window")?,
                "--kept" => told.kept = value,
                "--program" => told.program = Some(value),
                _ => bail!("{name}: no such option"),
            }
        }
        ensure!(!told.model.is_empty(), "--model ADDRESS: a server with the API of OpenAI");
        Ok(told)
    }
}

/// The prompts that are compared.
const ARMS: [&str; 3] = ["whole", "Epitome", "truncated"];
const WHOLE: usize = 0;
const EPITOME: usize = 1;
const TRUNCATED: usize = 2;
/// What is left for an answer beside a prompt, in tokens.
const ANSWER_ROOM: usize = 256;

/// A question and how far the model answers it from each prompt; the whole one may exceed its window.
struct Answered {
    case: String,
    kind: &'static str,
    held: [Option<f64>; 3],
}

/// Asks, and prints a table and one line of JSON.
///
/// # Errors
///
/// When the cases cannot be read, the program fails or the server does.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let told = Told::of_arguments(arguments)?;
    let cases = gold::chosen(&told.cases, told.questions)?;
    let mut model = AskedModel::at(&told.model, &told.kept)?;
    let window = told.window.min(model.window()?).saturating_sub(ANSWER_ROOM);
    let mut answered = Vec::new();
    let mut sizes = [const { Vec::new() }; 3];
    for case in &cases {
        let found = of_case(case, &told, window, &mut model)?;
        let Some((prompts, held)) = found else { continue };
        prompts.iter().zip(&mut sizes).for_each(|(it, sizes)| sizes.extend(it.map(|it| it as f64)));
        answered.extend(held);
        writeln!(io::stderr().lock(), "{}: {} questions so far", case.name, answered.len())?;
    }
    let figures = figures(&answered, &sizes, &told, &model.name);
    write!(io::stdout().lock(), "{}\n{figures}\n", table(&figures))?;
    Ok(())
}

/// The tokens of each prompt of a case, and what came of its questions; `None` where none fits.
type OfCase = Option<([Option<usize>; 3], Vec<Answered>)>;

fn of_case(case: &Case, told: &Told, window: usize, model: &mut AskedModel) -> Result<OfCase> {
    let small = prompt::transcript(&compressed(case, told)?);
    let room = model.tokens(&small)?;
    if room > window {
        return Ok(None);
    }
    let oldest = prompt::newest(&case.messages, room, &mut |text| model.tokens(text))?;
    let mut texts = [prompt::transcript(&case.messages), small, oldest].map(Some);
    let mut sizes = [None; 3];
    for (text, size) in texts.iter_mut().zip(&mut sizes) {
        let tokens = text.as_ref().map(|text| model.tokens(text)).transpose()?;
        *size = tokens.filter(|tokens| *tokens <= window);
        *text = text.take().filter(|_| size.is_some());
    }
    let mut held = vec![[None; 3]; case.questions.len()];
    // All questions of one prompt after each other: servers keep what they read of it.
    for arm in [EPITOME, TRUNCATED, WHOLE] {
        let Some(text) = &texts[arm] else { continue };
        for (question, held) in case.questions.iter().zip(&mut held) {
            let answer = model.answer(&question.put(text), question.room())?;
            held[arm] = Some(question.held(&answer));
        }
    }
    let of = |(question, held): (&Question, _)| Answered {
        case: case.name.clone(),
        kind: question.kind(),
        held,
    };
    Ok(Some((sizes, case.questions.iter().zip(held).map(of).collect())))
}

/// What the program makes of a case.
fn compressed(case: &Case, told: &Told) -> Result<Vec<Value>> {
    let mut command = Command::new(told.program.as_deref().unwrap_or("cargo"));
    if told.program.is_none() {
        command.args(["run", "--quiet", "--release", "--package", "epitome-cli", "--"]);
    }
    command.args(["compress", "--quiet", "--ratio", &told.ratio, "--format", "openai"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut ran = command.spawn().context("epitome cannot be run")?;
    let input = ran.stdin.take().context("no standard input")?;
    serde_json::to_writer(input, &case.messages)?;
    let ran = ran.wait_with_output()?;
    ensure!(ran.status.success(), "epitome compress ended with {}", ran.status);
    let out: Value = serde_json::from_slice(&ran.stdout)?;
    let messages = out.as_array().or_else(|| out["messages"].as_array());
    messages.cloned().context("no messages came back")
}

/// The kinds of questions, all of them last.
const KINDS: [&str; 3] = ["chat", "call", "all"];
/// Which prompts are compared: the first is ours.
const COMPARED: [[usize; 2]; 2] = [[EPITOME, TRUNCATED], [EPITOME, WHOLE]];

/// How the prompts compare, by the kind of question.
fn figures(answered: &[Answered], sizes: &[Vec<f64>; 3], told: &Told, model: &str) -> Value {
    let mut kinds = Vec::new();
    for kind in KINDS {
        let of = |it: &&Answered| kind == "all" || it.kind == kind;
        for [one, other] in COMPARED {
            let both = answered.iter().filter(of);
            let both = both.filter_map(|it| Some((&*it.case, it.held[one]?, it.held[other]?)));
            let pairs: Vec<Paired<'_>> =
                both.map(|(cluster, one, other)| Paired { cluster, one, other }).collect();
            let [ours, theirs] = [|it: &Paired<'_>| it.one, |it: &Paired<'_>| it.other]
                .map(|side| interval::mean(pairs.iter().map(side)));
            let difference = Interval::of_pairs(&pairs);
            kinds.push(json!({
                "kind": kind, "questions": pairs.len(), "conversations": difference.clusters,
                "prompts": [ARMS[one], ARMS[other]], "held": [ours, theirs],
                "difference": difference.mean, "interval": [difference.low, difference.high],
            }));
        }
    }
    let tokens =
        |arm: usize| (ARMS[arm].to_owned(), json!(interval::mean(sizes[arm].iter().copied())));
    let tokens: serde_json::Map<String, Value> =
        [WHOLE, EPITOME, TRUNCATED].map(tokens).into_iter().collect();
    json!({"model": model, "ratio": told.ratio, "tokens": tokens, "compared": kinds})
}

const HEAD: &str = "\
| questions | conversations | prompts | answered | difference | 95 % |
| --- | --- | --- | --- | --- | --- |
";

/// The figures as a table.
fn table(figures: &Value) -> String {
    let mut out = HEAD.to_owned();
    for row in figures["compared"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let figure =
            |value: &Value| value.as_f64().map_or("–".to_owned(), |it| format!("{it:.2}"));
        let signed =
            |value: &Value| value.as_f64().map_or("–".to_owned(), |it| format!("{it:+.2}"));
        let (prompts, held, interval) = (&row["prompts"], &row["held"], &row["interval"]);
        out.push_str(&format!(
            "| {} {} | {} | {} / {} | {} / {} | {} | {} to {} |\n",
            row["questions"],
            text(&row["kind"]),
            row["conversations"],
            text(&prompts[0]),
            text(&prompts[1]),
            figure(&held[0]),
            figure(&held[1]),
            signed(&row["difference"]),
            signed(&interval[0]),
            signed(&interval[1]),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_questions_that_both_prompts_were_asked() {
        let of = |case: &str, kind, held| Answered { case: case.to_owned(), kind, held };
        let answered = [
            of("a", "chat", [Some(1.0), Some(1.0), Some(0.0)]),
            of("a", "chat", [None, Some(1.0), Some(1.0)]),
            of("b", "call", [Some(1.0), Some(0.5), Some(0.5)]),
        ];
        let told = Told::of_arguments(&["cases", "--model", "http://127.0.0.1:1"]).unwrap();
        let sizes = [vec![400.0], vec![100.0, 50.0], vec![98.0]];
        let found = figures(&answered, &sizes, &told, "small");
        assert_eq!(found["tokens"]["Epitome"], 75.0);
        let table = table(&found);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows[0],
            "| 2 chat | 1 | Epitome / truncated | 1.00 / 0.50 | +0.50 | +0.50 to +0.50 |"
        );
        assert_eq!(
            rows[1],
            "| 1 chat | 1 | Epitome / whole | 1.00 / 1.00 | +0.00 | +0.00 to +0.00 |"
        );
        assert!(
            rows[4].starts_with("| 3 all | 2 | Epitome / truncated | 0.83 / 0.50 | +0.33 |"),
            "{table}"
        );
    }

    #[test]
    fn options_are_told_by_name() {
        let told = Told::of_arguments(&["c", "--model", "http://h:1", "--ratio", "8"]).unwrap();
        assert_eq!((told.ratio.as_str(), told.questions), ("8", 60));
        for wrong in [&["c"][..], &["c", "--model"], &["c", "--modle", "x"], &[]] {
            assert!(Told::of_arguments(wrong).is_err(), "{wrong:?}");
        }
    }
}
