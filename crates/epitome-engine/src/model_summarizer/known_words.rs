//! What models wrote before, which stands again in summaries that cover it.
//!
//! Invariant: words stand for the messages that they were written of, and for no others; they are made
//! shorter by whole sentences, and nothing is written of them anew. Policies judge what comes of them like
//! any summary. Called by whoever writes summaries, before a model is asked.

use std::collections::BTreeSet;

use async_trait::async_trait;
use epitome_extract::{ExtractiveSummarizer, MustKeepFacts, whole_sentences};
use epitome_kernel::{Summarizer, SummaryError, SummaryJob, TextMeasure};
use epitome_types::hook::SummaryPrompt;
use epitome_types::{Entry, EntryId, Summary, SummaryKind};

use super::SummaryContext;
use super::candidate::is_none;

/// What the end of a line takes, in tokens.
const LINE_END: u64 = 1;

/// What a model wrote of some messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownWords {
    /// The messages, in order.
    pub(crate) covers: Vec<EntryId>,
    pub(crate) text: String,
    pub(crate) model: String,
}

/// Writes what models wrote before, and no more: where they are not waited for.
pub(crate) struct KnownWordsSummarizer<'a>(pub(crate) SummaryContext<'a>);

#[async_trait]
impl Summarizer for KnownWordsSummarizer<'_> {
    fn name(&self) -> &str {
        self.0.inner.name()
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        // Where nothing is known no policy is asked.
        let is_known = !within(self.0.known, job.entries).0.is_empty();
        if is_known && job.kind != SummaryKind::Digest {
            let must_keep = self.0.must_keep(job);
            if let Some(prompt) = self.0.prompt(job, &must_keep, job.most).await
                && let Some(summary) = self.0.known_words(job, &prompt, &must_keep, 0.0).await
            {
                return Ok(summary);
            }
        }
        self.0.inner.summarize(job).await
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        self.0.inner.outdated(entries)
    }
}

impl SummaryContext<'_> {
    /// A summary in the words that models have for its messages: all that they wrote of them, as much as
    /// there is room for, and what an extract tells of the rest. `None` where they wrote of less than a
    /// share of them, by bytes, or where policies want none of it.
    pub(super) async fn known_words(
        &self,
        job: &SummaryJob<'_>,
        prompt: &SummaryPrompt,
        must_keep: &MustKeepFacts,
        least: f64,
    ) -> Option<Summary> {
        let (known, share) = within(self.known, job.entries);
        if known.is_empty() || share < least {
            return None;
        }
        let headings = prompt.sections.as_deref().unwrap_or_default();
        let own: Vec<_> = known.iter().map(|words| self.own_words(&words.text, prompt)).collect();
        // Of some nothing is left but what was said beside it.
        let own: Vec<_> = own.into_iter().filter(|text| !text.trim().is_empty()).collect();
        // What they did not write of has its share of the room.
        let most = if share < 1.0 { (job.most as f64 * share) as u64 } else { job.most };
        let text = fitted(&own, most, job.measure, headings)?;
        let text = match &prompt.beside {
            Some(opening) => ExtractiveSummarizer::default().completed(job, &text, opening)?,
            // What room there is will be filled.
            None if share >= 1.0 || prompt.rest.is_some() => text,
            None => self.with_the_rest(text, &known, job).await,
        };
        let text = self.judged(text, prompt, job, must_keep).await.ok()?;
        let model = known.last().map(|words| words.model.clone());
        Some(Summary { text, model, ..Summary::default() })
    }

    /// What a model wrote of a summary, without what is said beside it.
    pub(super) fn own_words<'t>(&self, text: &'t str, prompt: &SummaryPrompt) -> &'t str {
        let terms = &self.terms.summaries;
        let beside = [&*terms.extract_heading, &*terms.missing_facts_heading];
        let openings = [&prompt.beside, &prompt.rest].into_iter().filter_map(Option::as_deref);
        let openings = openings.chain(beside).filter(|opening| !opening.is_empty());
        own_words(text, &openings.collect::<Vec<_>>())
    }

    /// A text with an extract behind it of the messages that it does not stand for, where there is room
    /// for any of that.
    async fn with_the_rest(
        &self,
        text: String,
        known: &[&KnownWords],
        job: &SummaryJob<'_>,
    ) -> String {
        let opening = match &*self.terms.summaries.extract_heading {
            "" => String::new(),
            heading => format!("{heading}\n"),
        };
        let opened = format!("{text}\n{opening}");
        let told: BTreeSet<EntryId> =
            known.iter().flat_map(|words| &words.covers).copied().collect();
        let is_open = |entry: &&&Entry| !told.contains(&entry.id);
        let [entries, originals] = [job.entries, job.originals]
            .map(|all| all.iter().filter(is_open).copied().collect::<Vec<_>>());
        let most = job.most.saturating_sub(job.measure.size(&opened));
        let (entries, originals) = (&entries[..], &originals[..]);
        let rest = SummaryJob { entries, originals, most, passages: false, ..*job };
        match self.inner.summarize(&rest).await {
            Ok(rest) => opened + &rest.text,
            Err(_) => text,
        }
    }
}

/// What is known of these messages, each of them once, in order; the longest first where they overlap.
/// And how much of the messages that is, as a share of their bytes.
fn within<'w>(known: &'w [KnownWords], entries: &[&Entry]) -> (Vec<&'w KnownWords>, f64) {
    let mut open: BTreeSet<EntryId> = entries.iter().map(|entry| entry.id).collect();
    let mut longest: Vec<_> = known.iter().filter(|words| !words.covers.is_empty()).collect();
    longest.sort_by_key(|words| std::cmp::Reverse(words.covers.len()));
    let mut found = Vec::new();
    for words in longest {
        if words.covers.iter().all(|id| open.contains(id)) {
            words.covers.iter().for_each(|id| _ = open.remove(id));
            found.push(words);
        }
    }
    found.sort_by(|a, b| a.covers.cmp(&b.covers));
    let bytes = |entry: &&&Entry| entry.readable().len();
    let all: usize = entries.iter().map(|entry| bytes(&entry)).sum();
    let left: usize =
        entries.iter().filter(|entry| open.contains(&entry.id)).map(|it| bytes(&it)).sum();
    (found, if all == 0 { 0.0 } else { (all - left) as f64 / all as f64 })
}

/// What a model wrote of a summary, without what was said beside it under one of these openings.
fn own_words<'t>(text: &'t str, openings: &[&str]) -> &'t str {
    let ends = openings.iter().filter_map(|opening| {
        text.match_indices(opening).map(|(at, _)| at).find(|at| {
            let behind = &text[at + opening.len()..];
            (*at == 0 || text[..*at].ends_with('\n'))
                && (behind.is_empty() || behind.starts_with('\n'))
        })
    });
    text[..ends.min().unwrap_or(text.len())].trim_end()
}

/// Several texts as one: section by section where all of them have these, each line of a section once.
fn joined(texts: &[&str], headings: &[String]) -> String {
    let sections: Option<Vec<_>> = texts.iter().map(|text| sections(text, headings)).collect();
    let Some(all) = sections.filter(|_| texts.len() > 1 && !headings.is_empty()) else {
        return texts.join("\n");
    };
    let section = |(place, heading): (usize, &String)| {
        let mut lines: Vec<&str> = all.iter().flat_map(|one| one[place].iter().copied()).collect();
        let says = |line: &&str| !is_none(line);
        if lines.iter().any(says) {
            lines.retain(says);
        } else {
            lines.truncate(1);
        }
        let mut told = BTreeSet::new();
        lines.retain(|line| told.insert(line.trim()));
        format!("{heading}\n{}", lines.join("\n"))
    };
    headings.iter().enumerate().map(section).collect::<Vec<_>>().join("\n\n")
}

/// The lines below each heading of a text, empty ones left out; `None` where one is missing.
fn sections<'t>(text: &'t str, headings: &[String]) -> Option<Vec<Vec<&'t str>>> {
    let mut found: Vec<Option<Vec<&str>>> = vec![None; headings.len()];
    let mut at = None;
    for line in text.lines() {
        match place(line, headings) {
            Some(heading) => {
                at = Some(heading);
                found[heading].get_or_insert_default();
            }
            None if line.trim().is_empty() => {}
            None => {
                if let Some(Some(lines)) = at.map(|at| &mut found[at]) {
                    lines.push(line);
                }
            }
        }
    }
    found.into_iter().collect()
}

/// Which of these headings a line is.
fn place(line: &str, headings: &[String]) -> Option<usize> {
    let words = |line: &str| line.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    headings.iter().position(|heading| words(line) == words(heading))
}

/// Several texts, of which the oldest is the first, as one for which there is room. Each has as much of it
/// as any other; what an older one leaves goes to the newer ones. `None` where there is room for nothing.
fn fitted(
    texts: &[&str],
    most: u64,
    measure: &dyn TextMeasure,
    headings: &[String],
) -> Option<String> {
    let all = joined(texts, headings);
    if all.trim().is_empty() {
        return None;
    }
    if measure.size(&all) <= most {
        return Some(all);
    }
    // What stands under one heading in the end has it once.
    let again = headings.iter().map(|line| measure.size(line) + LINE_END).sum::<u64>();
    let mut left = most + again * (texts.len() as u64).saturating_sub(1);
    let mut short = Vec::new();
    for (text, waiting) in texts.iter().zip((1..=texts.len() as u64).rev()) {
        if let Some(text) = shortened(text, left / waiting, measure, headings) {
            left = left.saturating_sub(measure.size(&text) + LINE_END);
            short.push(text);
        }
    }
    let short: Vec<_> = short.iter().map(String::as_str).collect();
    shortened(&joined(&short, headings), most, measure, headings).filter(|it| !it.is_empty())
}

/// As many sentences of a text as have room: the longest section gives its last one up first. `None` where
/// nothing but headings has.
fn shortened(
    text: &str,
    most: u64,
    measure: &dyn TextMeasure,
    headings: &[String],
) -> Option<String> {
    if measure.size(text) <= most {
        return Some(text.to_owned());
    }
    let mut sections: Vec<WordSection<'_>> = vec![WordSection::default()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (place(line, headings), sections.last_mut()) {
            (None, Some(section)) => {
                let sentences = whole_sentences(line).into_iter().enumerate();
                section.said.extend(sentences.map(|(number, text)| WordSentence {
                    text,
                    opens: number == 0,
                    size: measure.size(text) + LINE_END,
                }));
            }
            _ => sections.push(WordSection { heading: Some(line), said: Vec::new() }),
        }
    }
    let headings = sections.iter().filter_map(|one| one.heading);
    let headings: u64 = headings.map(|line| measure.size(line) + LINE_END).sum();
    let mut size = headings + sections.iter().map(WordSection::size).sum::<u64>();
    while size > most {
        let longest = sections.iter_mut().max_by_key(|one| one.size())?;
        size -= longest.said.pop()?.size;
    }
    let has_words = sections.iter().any(|one| !one.said.is_empty());
    let text = sections.iter().fold(String::new(), |text, section| section.onto(text));
    (has_words && measure.size(&text) <= most).then_some(text)
}

/// A section of a text that is made shorter.
#[derive(Default)]
struct WordSection<'t> {
    heading: Option<&'t str>,
    said: Vec<WordSentence<'t>>,
}

/// A sentence of it.
struct WordSentence<'t> {
    text: &'t str,
    /// Whether a line begins with it.
    opens: bool,
    /// In tokens.
    size: u64,
}

impl WordSection<'_> {
    /// What it says takes so many tokens.
    fn size(&self) -> u64 {
        self.said.iter().map(|sentence| sentence.size).sum()
    }

    /// A text with it behind.
    fn onto(&self, text: String) -> String {
        let said = self.said.iter().map(|one| (one.text, if one.opens { "\n" } else { " " }));
        self.heading.map(|line| (line, "\n")).into_iter().chain(said).fold(
            text,
            |mut text, (words, before)| {
                if !text.is_empty() {
                    text.push_str(before);
                }
                text.push_str(words);
                text
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::{SizeGauge, TokenCounter};
    use epitome_testkit::{FixedCounter, chat};
    use epitome_types::BudgetUnit;
    use proptest::prelude::*;

    use super::*;

    fn words(covers: &[u32], text: &str) -> KnownWords {
        let covers = covers.iter().map(|id| EntryId(*id)).collect();
        KnownWords { covers, text: text.to_owned(), model: "m".to_owned() }
    }

    fn headings(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn each_message_is_told_of_once() {
        let talk = chat().user("aaaa").assistant("bbbb").user("cccc").assistant("dddd").entries();
        let entries: Vec<_> = talk.iter().collect();
        let check = |known: &[KnownWords], texts: &[&str], share: f64| {
            let (found, of_all) = within(known, &entries);
            let found: Vec<_> = found.iter().map(|words| &*words.text).collect();
            assert_eq!((&found[..], of_all), (texts, share));
        };
        check(&[], &[], 0.0);
        check(&[words(&[2, 3], "two"), words(&[0], "one")], &["one", "two"], 0.75);
        // The longest first; what is also of other messages says nothing of these alone.
        check(
            &[words(&[1], "short"), words(&[0, 1], "long"), words(&[3, 4], "more")],
            &["long"],
            0.5,
        );
        check(&[words(&[0, 1, 2, 3], "all")], &["all"], 1.0);
    }

    #[test]
    fn what_stands_beside_the_words_of_a_model_is_none_of_them() {
        let said = "It was mended.\nIn its words:\nUser: Mend it.";
        assert_eq!(own_words(said, &["In its words:", "Also said:"]), "It was mended.");
        let also = "It was mended.\nAlso said:\n- x\nIn its words:\ny";
        assert_eq!(own_words(also, &["In its words:", "Also said:"]), "It was mended.");
        let inner = "It stands in its words: no more.";
        assert_eq!(own_words(inner, &["in its words:"]), inner);
    }

    #[test]
    fn texts_are_joined_section_by_section() {
        let both = ["## Done\n- a\n## Open\n- none", "## Done\n- b\n\n## Open\n- c"];
        let headings = headings(&["## Done", "## Open"]);
        assert_eq!(joined(&both, &headings), "## Done\n- a\n- b\n\n## Open\n- c");
        assert_eq!(joined(&both[..1], &headings), both[0]);
        let again = ["## Done\n- a\n- b\n## Open\n- c", "## Done\n- b\n- d\n## Open\n- c"];
        assert_eq!(joined(&again, &headings), "## Done\n- a\n- b\n- d\n\n## Open\n- c");
        assert_eq!(joined(&["a", "b"], &headings), "a\nb");
        assert_eq!(joined(&["a", "b"], &[]), "a\nb");
        let none = ["## Done\nnone\n## Open\nnone"; 2];
        assert_eq!(joined(&none, &headings), "## Done\nnone\n\n## Open\nnone");
    }

    #[track_caller]
    fn check_shortened(text: &str, most: u64, expected: Option<&str>) {
        let counter: &dyn TokenCounter = &FixedCounter::Words;
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let found = shortened(text, most, &gauge, &headings(&["## Done", "## Open"]));
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn the_longest_section_gives_its_last_sentence_up_first() {
        let text = "## Done\none two\nthree four\nfive six\nseven eight\n## Open\nnine";
        check_shortened(text, 99, Some(text));
        check_shortened(text, 12, Some("## Done\none two\n## Open\nnine"));
        check_shortened(text, 3, None);
        check_shortened("one two three", 2, None);
        check_shortened("It is one. It is two. It is three.", 8, Some("It is one. It is two."));
    }

    #[test]
    fn newer_words_have_as_much_of_the_room_as_older_ones() {
        let counter: &dyn TokenCounter = &FixedCounter::Words;
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let texts = ["It is one. It was two.", "It is three. It was four.", "It is five."];
        let check = |most: u64, expected: Option<&str>| {
            assert_eq!(fitted(&texts, most, &gauge, &[]).as_deref(), expected);
        };
        check(99, Some("It is one. It was two.\nIt is three. It was four.\nIt is five."));
        check(12, Some("It is one.\nIt is three.\nIt is five."));
        // What is no room for a sentence goes to the newer ones.
        check(5, Some("It is five."));
        check(1, None);
    }

    proptest! {
        #[test]
        fn what_is_shortened_fits_and_is_some_of_its_lines(
            lines in prop::collection::vec("(## Done|## Open|[a-z]{1,4}( [a-z]{1,4}){0,6})", 1..12),
            most in 0..40u64,
        ) {
            let text = lines.join("\n");
            let counter: &dyn TokenCounter = &FixedCounter::Words;
            let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
            let found = shortened(&text, most, &gauge, &headings(&["## Done", "## Open"]));
            if let Some(found) = found {
                prop_assert!(gauge.size(&found) <= most);
                let mut all = lines.iter();
                prop_assert!(found.lines().all(|line| all.any(|one| one == line)), "{found}");
            } else {
                prop_assert!(gauge.size(&text) > most);
            }
        }
    }
}
