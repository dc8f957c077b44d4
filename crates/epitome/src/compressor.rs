//! One conversation through the whole machine: bytes, thread, plan, view, bytes.
//!
//! Invariant: what left the prompt is in the store before the result is handed out, and on any
//! error nothing is. Called by hosts, the command among them.

use std::mem;
use std::sync::Arc;

use epitome_count::{Cached, ToolFormat, for_model, tools};
use epitome_kernel::{ChainRound, Counter, Departure, Gauge, Sizes, Thread};
use epitome_plan::{CompressOptions, Envelope};
use epitome_types::{Happened, Report, Unit};
use epitome_wire::{Document, Format};

use crate::builder::{Builder, Counting};
use crate::error::{Error, first};
use crate::facts::ThreadTexts;
use crate::outgoing::{broken, outgoing};
use crate::planning::{Planned, Told, shaped};
use crate::profile::Back;
use crate::reported::Account;
use crate::request::Request;
use crate::single::Single;

/// The vocabulary that budgets are counted in.
pub(crate) const BUDGET_VOCABULARY: &str = "o200k_base";

/// Compresses conversations, each on its own.
pub struct Compressor {
    pub(crate) settings: Builder,
}

/// A conversation, ready to be sent.
#[derive(Debug)]
pub struct Compressed {
    /// The request; the bytes that came in where nothing was to do.
    pub bytes: Vec<u8>,
    /// What was done. `elapsed_ms` is 0: the host owns the clock.
    pub report: Report,
    /// What left the prompt; where there is a store it is kept already, and only then it is cut
    /// into pieces for search.
    pub departure: Departure,
}

impl Compressor {
    /// A compressor in the making.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Compresses a conversation.
    ///
    /// # Errors
    ///
    /// When the input cannot be read, when what cannot shrink exceeds a stated bound, or when the
    /// store fails; see [`Error`].
    pub async fn compress(&self, input: &[u8]) -> Result<Compressed, Error> {
        let request = Request::read(input, self.settings.format, self.settings.to)?;
        let document = request.document()?.standing_alone();
        let of_model = |name: &str| Arc::new(Cached::new(for_model(name)));
        let counter: Arc<dyn Counter> = match &self.settings.counting {
            Counting::Own(counter) => counter.clone(),
            Counting::Model(name) => of_model(name),
            Counting::Default => {
                let in_window = self.settings.target.counts_tools();
                of_model(document.model().filter(|_| in_window).unwrap_or(BUDGET_VOCABULARY))
            }
        };
        let compressed = self.run(&request, &document, &counter).await?;
        if let Some((store, scope)) = &self.settings.store {
            store.keep(scope, &compressed.departure)?;
        }
        Ok(compressed)
    }

    async fn run(
        &self,
        request: &Request<'_>,
        document: &Document<'_>,
        shared: &Arc<dyn Counter>,
    ) -> Result<Compressed, Error> {
        let counter = &**shared;
        let Builder { profile, target, store, summarizers, .. } = &self.settings;
        let thread = Thread::new(document.shared_entries(), &[]);
        let schemas = tools(counter, tool_format(request.format), &document.tool_schemas());
        let envelope = Envelope {
            tokens: if target.counts_tools() { schemas } else { 0 },
            bytes: around(document),
        };
        let tokens =
            Sizes::of(thread.entries(), Gauge { counter, unit: Unit::Tokens }, envelope.tokens);
        let known = self.settings.limit_of(document);
        let bounds = target.bounds(known, &thread, &tokens);
        let known = broken(document);
        let mut account = Account {
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
        let single = Single {
            settings: &self.settings,
            document,
            thread: &thread,
            tokens: &tokens,
            bounds: &bounds,
        };
        account.warnings.extend(request.torn.map(|torn| torn.to_string()));
        let continued = document.is_continued();
        if continued {
            account.warnings.push(
                "the provider keeps a part of the history; the request stays as it is".to_owned(),
            );
        }
        if !continued && let Some(decided) = single.decide(shared).await? {
            let back = if store.is_some() { Back::Store } else { Back::None };
            let base = profile.compress(back, envelope);
            let originals = self.settings.originals || store.is_some();
            let unbind = profile.unbinds(document);
            let base = CompressOptions { unbind, originals, ..base };
            let mut told = Told::default();
            let summarizers: Vec<_> = summarizers.iter().map(|one| &**one).collect();
            let texts = ThreadTexts(&thread);
            let planning = decided.planning(&single, counter, &summarizers, &texts);
            // The last one's plan always comes to something.
            let (round, mut behind) = (ChainRound::default(), None::<String>);
            loop {
                let (orders, policy) = planning.orders(&round, behind.as_deref(), &mut told).await;
                behind.clone_from(&policy);
                let options = shaped(
                    (base.clone(), back),
                    &decided.council,
                    &decided.common,
                    (&orders, policy),
                )
                .await;
                let planned = planning.make(&orders, &options, &decided.attempts, &mut told).await;
                if matches!(planned, Planned::Passed) {
                    continue;
                }
                account.warnings.extend(told.happened.iter().filter_map(worth_telling));
                account.warnings.extend(told.of_sessions());
                let failures = decided.council.failures.take();
                account.warnings.extend(failures.iter().filter_map(worth_telling));
                let errors = decided.council.chain.take_errors();
                account.warnings.extend(errors.iter().map(ToString::to_string));
                let bounded = decided.council.chain.take_bounded();
                account.warnings.extend(bounded.iter().map(ToString::to_string));
                match planned {
                    Planned::Made(mut compressed) => {
                        let budget = decided.most();
                        let bytes = outgoing(document, &compressed.view.edits(), budget)?;
                        let after = Document::parse(&bytes, request.format).map_err(Error::Edit)?;
                        let after = after.standing_alone();
                        let departure = mem::take(&mut compressed.departure);
                        let report = account.compressed(document, &after, *compressed, &departure);
                        return Ok(Compressed { bytes, report, departure });
                    }
                    Planned::Refused(error) => return Err(Error::Plan(error)),
                    Planned::CannotFit { budget, floor } if bounds.enforced => {
                        return Err(Error::CannotFit { budget, floor });
                    }
                    Planned::CannotFit { budget, floor } => account.warnings.push(format!(
                        "{} {} cannot shrink, more than the guessed limit of {}; state it with a limit",
                        floor.size, budget.unit, budget.most
                    )),
                    Planned::Skipped(_) | Planned::Passed => {}
                }
                break;
            }
        }
        let report = account.untouched(document, &thread, &tokens);
        Ok(Compressed { bytes: document.bytes().to_vec(), report, departure: Departure::default() })
    }
}

/// What a report warns of, of what came up.
fn worth_telling(happened: &Happened) -> Option<String> {
    match happened {
        Happened::PolicyWarning { policy, text, .. } => Some(format!("{policy}: {text}")),
        Happened::CompressionError { cause, remedy, .. } => Some(format!("{cause}; {remedy}")),
        Happened::ModelPassedOver { policy, hook, ask, cause, next, .. } => {
            Some(format!("{policy}: `{hook}`: it asks `{ask}`: {cause}; `{next}` is asked"))
        }
        _ => None,
    }
}

/// How the format hands tools to the model.
pub fn tool_format(format: Format) -> ToolFormat {
    match format.nearest() {
        Format::Anthropic => ToolFormat::Anthropic,
        Format::Ollama => ToolFormat::Template,
        _ => ToolFormat::OpenAi,
    }
}

/// The bytes of a request beside its messages, each of which brings one separator but the last.
fn around(document: &Document<'_>) -> u64 {
    let messages = document.entries().iter().map(|entry| u64::from(entry.bytes) + 1);
    (document.bytes().len() as u64).saturating_sub(messages.sum::<u64>().saturating_sub(1))
}
