//! One conversation through the whole machine: bytes, thread, plan, view, bytes.
//!
//! Invariant: what left the prompt is in the store before the result is handed out, and on any
//! error nothing is. Called by hosts, the command among them.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use epitome_count::{CachedCounter, for_model, tools};
use epitome_extract::KeepRules;
use epitome_kernel::{
    ChainRound, Eviction, HookNotes, SizeGauge, Thread, ThreadSizes, TokenCounter,
};
use epitome_plan::{CompressOptions, LeavingText, RequestEnvelope, leaving, taken};
use epitome_types::{BudgetUnit, CompressionReport, Entry, EventKind};
use epitome_wire::RequestDocument;

use crate::builder::CompressorBuilder;
use crate::error::{Error, first};
use crate::facts::ThreadTexts;
use crate::kept_lines::{alone, originals, with_facts};
use crate::one_shot::{Decided, OneShot};
use crate::output_check::{broken, outgoing};
use crate::plan_notes::PlanNotes;
use crate::plan_wording::{GivenOrders, shaped};
use crate::planning::PlanResult;
use crate::policy_runner::PolicyRunner;
use crate::report::{ReportBase, facts};
use crate::request::ParsedRequest;
use crate::setup::Counting;
use epitome_config::RedactionPatterns;
use epitome_config::profile::{BUILTIN, Back};

pub(crate) use epitome_config::{BUDGET_VOCABULARY, tool_format};

/// Compresses conversations, each on its own.
pub struct Compressor {
    pub(crate) settings: CompressorBuilder,
}

/// A conversation, ready to be sent.
#[derive(Debug)]
pub struct CompressedPrompt {
    /// The request; the bytes that came in where nothing was to do.
    pub bytes: Vec<u8>,
    /// What was done. `elapsed_ms` is 0: the host owns the clock.
    pub report: CompressionReport,
    /// What left the prompt; where there is a store it is kept already, and only then it is cut
    /// into pieces for search.
    pub departure: Eviction,
}

impl CompressorBuilder {
    /// The compressor of single conversations.
    pub fn build(self) -> Compressor {
        Compressor { settings: self.settled() }
    }
}

impl Compressor {
    /// A compressor in the making.
    pub fn builder() -> CompressorBuilder {
        CompressorBuilder::default()
    }

    /// Compresses a conversation.
    ///
    /// # Errors
    ///
    /// When the input cannot be read, when what cannot shrink exceeds a stated bound, or when the
    /// store fails; see [`Error`].
    pub async fn compress(&self, input: &[u8]) -> Result<CompressedPrompt, Error> {
        self.kept(self.made(input).await?)
    }

    /// Compresses a conversation, and lets go of it as soon as its bytes are not needed any more.
    ///
    /// # Errors
    ///
    /// As [`Compressor::compress`].
    pub async fn compress_owned(&self, input: Vec<u8>) -> Result<CompressedPrompt, Error> {
        let made = self.made(&input).await?;
        drop(input);
        self.kept(made)
    }

    /// What is sent, and what the rest is made of.
    async fn made(&self, input: &[u8]) -> Result<MadePrompt, Error> {
        let request =
            ParsedRequest::read(input, self.settings.formats.input, self.settings.formats.output)?;
        let document = request.document()?.standing_alone();
        let of_model = |name: &str| Arc::new(CachedCounter::new(for_model(name)));
        let counter: Arc<dyn TokenCounter> = match &self.settings.sizes.counting {
            Counting::Own(counter) => counter.clone(),
            Counting::Model(name) => of_model(name),
            Counting::Default => {
                let in_window = self.settings.sizes.target.counts_tools();
                of_model(document.model().filter(|_| in_window).unwrap_or(BUDGET_VOCABULARY))
            }
        };
        self.run(&request, &document, &counter).await
    }

    /// The messages as they may be recorded, where what leaves them is.
    fn recorded(&self, document: &RequestDocument<'_>) -> Arc<Vec<Entry>> {
        let CompressorBuilder { profile, departures, .. } = &self.settings;
        let said = document.shared_entries();
        let masked = match departures.store.as_ref().map(|_| profile.redaction.entries(&said)) {
            Some(Cow::Owned(masked)) => masked,
            Some(Cow::Borrowed(_)) | None => return said,
        };
        Arc::new(masked)
    }

    /// The whole result, once what left is in the store.
    fn kept(&self, made: MadePrompt) -> Result<CompressedPrompt, Error> {
        let prompt = made.finished(&self.settings.profile.redaction);
        if let Some((store, scope)) = &self.settings.departures.store {
            store.keep(scope, &prompt.departure)?;
        }
        Ok(prompt)
    }

    async fn run(
        &self,
        request: &ParsedRequest<'_>,
        document: &RequestDocument<'_>,
        shared: &Arc<dyn TokenCounter>,
    ) -> Result<MadePrompt, Error> {
        let counter = &**shared;
        let CompressorBuilder { profile, sizes, .. } = &self.settings;
        let never = profile.rules.never.entries(document.entries());
        let thread = Thread::new(self.recorded(document), &[]).with_rule(&never);
        let schemas = tools(counter, tool_format(request.format), &document.tool_schemas());
        let shown = if sizes.target.counts_tools() { schemas } else { 0 };
        let hidden = |unit| hidden(document, &thread, SizeGauge { counter, unit });
        let envelope = RequestEnvelope {
            tokens: shown + hidden(BudgetUnit::Tokens),
            chars: hidden(BudgetUnit::Chars),
            bytes: around(document),
        };
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let tokens = ThreadSizes::measure(document.entries(), gauge, shown);
        let known = self.settings.limit_for_request(document);
        let bounds = sizes.target.bounds(known, &thread, &tokens);
        let loosened = bounds.loosened(&thread, &tokens, envelope);
        let thread = loosened.unwrap_or(thread);
        let known = broken(document);
        let mut account = ReportBase {
            profile,
            format: request.from,
            counter: counter.id(),
            bounds: &bounds,
            tools: schemas,
            warnings: Vec::new(),
        };
        if !known.is_empty() {
            let known = first(&known);
            account.warnings.push(format!("its provider would refuse the input: {known}"));
        }
        let single = OneShot {
            settings: &self.settings,
            document,
            thread: &thread,
            tokens: &tokens,
            bounds: &bounds,
        };
        account.warnings.extend(request.torn.map(|torn| torn.to_string()));
        account.warnings.extend(unmasked(profile.rules.results_to_mask(thread.entries())));
        let continued = document.is_continued();
        if continued {
            account.warnings.push(
                "the provider keeps a part of the history; the request stays as it is".to_owned(),
            );
        }
        let decided = if continued { None } else { single.decide(shared).await? };
        match decided {
            Some(mut decided) => {
                let Decided { council, common, .. } = &decided;
                decided.council = with_facts(council, common, originals(&thread)).await;
                self.planned(&single, &decided, envelope, account).await
            }
            None => Ok(untouched(&single, account).into()),
        }
    }

    /// What the first policy's plan comes to that comes to something; the last one's always does.
    async fn planned(
        &self,
        single: &OneShot<'_>,
        decided: &Decided,
        envelope: RequestEnvelope,
        mut account: ReportBase<'_>,
    ) -> Result<MadePrompt, Error> {
        let CompressorBuilder { profile, departures, writers, .. } = &self.settings;
        let has_store = departures.store.is_some();
        let back = if has_store { Back::Store } else { Back::None };
        let originals = departures.originals || has_store;
        let unbind = profile.unbinds(single.document);
        let base = profile.compress(back, envelope);
        // Until the bytes that came in are gone the texts that leave are named alone.
        let keep = &decided.council.rules.keep;
        let demands = alone(keep, profile, single.thread, decided.most());
        let base = CompressOptions { unbind, originals: false, demands, ..base };
        let list_chars = originals.then_some(base.texts.line_chars);
        let summarizers = writers.summarizers();
        let (texts, counter) = (ThreadTexts(single.thread), single.tokens.gauge().counter);
        let planning = decided.planning(single, counter, &summarizers, &texts);
        let (mut told, round, mut behind) =
            (PlanNotes::default(), ChainRound::default(), None::<String>);
        loop {
            let (orders, policy) = planning.orders(&round, behind.as_deref(), &mut told).await;
            behind.clone_from(&policy);
            let (council, common) = (&decided.council, &decided.common);
            let given = GivenOrders { orders: &orders, policy };
            let options = shaped(base.clone(), back, council, common, given).await;
            let held = single.holding(&mem::take(&mut told.held));
            let held = held.as_ref().map(|thread| OneShot { thread, ..*single });
            let held = held.as_ref().map(|it| decided.planning(it, counter, &summarizers, &texts));
            let planning = held.as_ref().unwrap_or(&planning);
            let planned = planning.make(&orders, &options, &decided.attempts, &mut told).await;
            if matches!(planned, PlanResult::Passed) {
                continue;
            }
            account.warnings.extend(warnings(&told, council));
            match planned {
                PlanResult::Made(compressed) => {
                    let edits = compressed.view.edits();
                    let bytes = match outgoing(single.document, edits, decided.most()) {
                        // Those behind a policy are asked whose plan a provider would refuse.
                        Err(error @ Error::Invalid(_)) if behind.as_deref() != Some(BUILTIN) => {
                            let policy = behind.clone().unwrap_or_default();
                            account.warnings.push(format!("{policy}: {error}"));
                            continue;
                        }
                        bytes => bytes?,
                    };
                    let made = SentPlan { compressed: *compressed, bytes };
                    return finished(single, decided, made, account, list_chars);
                }
                PlanResult::Refused(error) => return Err(Error::Plan(error)),
                PlanResult::CannotFit { budget, floor } if single.bounds.enforced => {
                    return Err(Error::CannotFit { budget, floor });
                }
                PlanResult::CannotFit { budget, floor } => account.warnings.push(format!(
                    "{} {} cannot shrink, more than the guessed limit of {}; state it with a limit",
                    floor.size, budget.unit, budget.most
                )),
                PlanResult::Skipped(_) | PlanResult::Passed => {}
            }
            return Ok(untouched(single, account).into());
        }
    }
}

/// A prompt, and what its report and its departure are completed from when the bytes that came in
/// are gone: either is as large as those.
struct MadePrompt {
    prompt: CompressedPrompt,
    /// Nothing where nothing was done.
    rest: Option<PromptOrigin>,
}

/// What a prompt was made of, and what is sent.
struct PromptOrigin {
    said: Arc<Vec<Entry>>,
    sent: Arc<Vec<Entry>>,
    /// The entries that the texts stand in; mostly those that were said.
    entries: Arc<Vec<Entry>>,
    leaving: Vec<LeavingText>,
    /// The lines that the profile keeps.
    keep: KeepRules,
}

impl From<CompressedPrompt> for MadePrompt {
    fn from(prompt: CompressedPrompt) -> Self {
        Self { prompt, rest: None }
    }
}

impl MadePrompt {
    /// The whole result. Its report is read by people and kept in files: what is never recorded is
    /// not told there either.
    fn finished(self, redaction: &RedactionPatterns) -> CompressedPrompt {
        let Self { mut prompt, rest } = self;
        let Some(PromptOrigin { said, sent, entries, leaving, keep }) = rest else { return prompt };
        let CompressedPrompt { report, departure, .. } = &mut prompt;
        let shown = [&said, &sent].map(|entries| redaction.entries(entries));
        report.must_keep = facts([&shown[0], &shown[1]], departure, &keep);
        // From here on the texts are taken out of the entries.
        drop(shown);
        drop(said);
        departure.blobs = taken(leaving, entries);
        prompt
    }
}

/// A plan, and what is sent by it.
struct SentPlan<'t> {
    compressed: epitome_plan::PlannedCompression<'t>,
    bytes: Vec<u8>,
}

/// A conversation that is made smaller, as its provider takes it. Of the texts that leave, where they
/// are wanted, a list quotes at most `list_chars` of each.
fn finished(
    single: &OneShot<'_>,
    decided: &Decided,
    made: SentPlan<'_>,
    account: ReportBase<'_>,
    list_chars: Option<usize>,
) -> Result<MadePrompt, Error> {
    let SentPlan { mut compressed, bytes } = made;
    let document = single.document;
    let after = RequestDocument::parse(&bytes, document.format()).map_err(Error::Edit)?;
    let after = after.standing_alone();
    let mut departure = mem::take(&mut compressed.departure);
    let (plan, tokens) = (&compressed.plan, single.tokens);
    let named = |chars| leaving(single.thread, tokens, plan, &mut departure, chars);
    let leaving = list_chars.map(named).unwrap_or_default();
    let report = account.compressed(document, &after, compressed);
    let (said, sent) = (document.shared_entries(), after.shared_entries());
    let prompt = CompressedPrompt { bytes, report, departure };
    let keep = decided.council.rules.keep.clone();
    let rest = Some(PromptOrigin { said, sent, entries: single.thread.shared(), leaving, keep });
    Ok(MadePrompt { prompt, rest })
}

/// A conversation as it came.
fn untouched(single: &OneShot<'_>, account: ReportBase<'_>) -> CompressedPrompt {
    let OneShot { document, thread, tokens, .. } = single;
    let (report, departure) = (account.untouched(document, thread, tokens), Eviction::default());
    CompressedPrompt { bytes: document.bytes().to_vec(), report, departure }
}

/// That results are written although the profile masks their tools: that is decided when a result comes, and
/// here all of them are there.
fn unmasked(results: usize) -> Option<String> {
    let what = "of tools that the profile masks stay as they are: masks are for live conversations";
    match results {
        0 => None,
        1 => Some(format!("1 result {what}")),
        many => Some(format!("{many} results {what}")),
    }
}

/// What a report warns of, of what policies said and failed at.
fn warnings(told: &PlanNotes, council: &PolicyRunner) -> Vec<String> {
    let mut warnings: Vec<_> = told.happened.iter().filter_map(worth_telling).collect();
    warnings.extend(told.of_sessions());
    warnings.extend(council.failures.take().iter().filter_map(worth_telling));
    let HookNotes { errors, bounded, .. } = council.take_notes();
    warnings.extend(errors.iter().map(ToString::to_string));
    warnings.extend(bounded.iter().map(ToString::to_string));
    warnings
}

/// What a report warns of, of what came up.
fn worth_telling(happened: &EventKind) -> Option<String> {
    match happened {
        EventKind::PolicyWarning { policy, text, .. } => Some(format!("{policy}: {text}")),
        EventKind::CompressionError { cause, remedy, .. } => Some(format!("{cause}; {remedy}")),
        EventKind::ModelFallback { policy, hook, ask, cause, next, .. } => {
            Some(format!("{policy}: `{hook}`: it asks `{ask}`: {cause}; `{next}` is asked"))
        }
        _ => None,
    }
}

/// What of a document its thread does not show, since that is not recorded.
fn hidden(document: &RequestDocument<'_>, thread: &Thread, gauge: SizeGauge<'_>) -> u64 {
    if std::ptr::eq(thread.entries(), document.entries()) {
        return 0;
    }
    let [said, shown] = [document.entries(), thread.entries()]
        .map(|entries| ThreadSizes::measure(entries, gauge, 0).total());
    said.saturating_sub(shown)
}

/// The bytes of a request beside its messages, each of which brings one separator but the last.
fn around(document: &RequestDocument<'_>) -> u64 {
    let messages = document.entries().iter().map(|entry| u64::from(entry.bytes) + 1);
    (document.bytes().len() as u64).saturating_sub(messages.sum::<u64>().saturating_sub(1))
}
