//! One conversation through the whole machine: bytes, thread, plan, view, bytes.
//!
//! Invariant: what left the prompt is in the store before the result is handed out, and on any
//! error nothing is. Called by hosts, the command among them.

use std::mem;

use epitome_count::{Cached, ToolFormat, for_model, tools};
use epitome_kernel::{Counter, Departure, Gauge, Sizes, Thread};
use epitome_plan::{Envelope, Outcome, compress};
use epitome_types::{Report, Unit};
use epitome_wire::{Document, Format};

use crate::builder::{Builder, Counting};
use crate::error::{Error, first};
use crate::outgoing::{broken, outgoing};
use crate::reported::Account;
use crate::request::Request;

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
        let document = request.document()?;
        let of_model;
        let counter: &dyn Counter = match &self.settings.counting {
            Counting::Own(counter) => &**counter,
            Counting::Model(name) => {
                of_model = Cached::new(for_model(name));
                &of_model
            }
            Counting::Default => {
                let in_window = self.settings.target.counts_tools();
                let name = document.model().filter(|_| in_window).unwrap_or(BUDGET_VOCABULARY);
                of_model = Cached::new(for_model(name));
                &of_model
            }
        };
        let compressed = self.run(&request, &document, counter).await?;
        if let Some((store, scope)) = &self.settings.store {
            store.keep(scope, &compressed.departure)?;
        }
        Ok(compressed)
    }

    async fn run(
        &self,
        request: &Request<'_>,
        document: &Document<'_>,
        counter: &dyn Counter,
    ) -> Result<Compressed, Error> {
        let Builder { profile, target, window, store, summarizers, .. } = &self.settings;
        let thread = Thread::new(document.entries().to_vec(), &[]);
        let schemas = tools(counter, tool_format(request.format), &document.tool_schemas());
        let envelope = Envelope {
            tokens: if target.counts_tools() { schemas } else { 0 },
            bytes: around(document),
        };
        let tokens =
            Sizes::of(thread.entries(), Gauge { counter, unit: Unit::Tokens }, envelope.tokens);
        let bounds = target.bounds(*window, request.format, &profile.options, &thread, &tokens);
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
        let options = profile.compress(store.is_some(), envelope);
        for (at, &budget) in bounds.attempts.iter().enumerate() {
            let last = at + 1 == bounds.attempts.len();
            let summarizers: Vec<_> = summarizers.iter().map(|one| &**one).collect();
            match compress(&thread, &options, budget, counter, &summarizers).await {
                Outcome::Compressed(mut compressed) => {
                    let bytes = outgoing(document, &compressed.view.edits(), budget)?;
                    let after = Document::parse(&bytes, request.format).map_err(Error::Edit)?;
                    let departure = mem::take(&mut compressed.departure);
                    let report = account.compressed(document, &after, *compressed, &departure);
                    return Ok(Compressed { bytes, report, departure });
                }
                Outcome::Refused(error) => return Err(Error::Plan(error)),
                Outcome::CannotFit { .. } if !last => {}
                Outcome::CannotFit { budget, floor } if bounds.enforced => {
                    return Err(Error::CannotFit { budget, floor });
                }
                Outcome::CannotFit { budget, floor } => account.warnings.push(format!(
                    "{} {} cannot shrink, more than the guessed limit of {}; state it with a limit",
                    floor.size, budget.unit, budget.most
                )),
                _ => break,
            }
        }
        let report = account.untouched(document, &thread, &tokens);
        Ok(Compressed { bytes: document.bytes().to_vec(), report, departure: Departure::default() })
    }
}

/// How the format hands tools to the model.
pub(crate) fn tool_format(format: Format) -> ToolFormat {
    match format.nearest() {
        Format::Anthropic => ToolFormat::Anthropic,
        _ => ToolFormat::OpenAi,
    }
}

/// The bytes of a request beside its messages, each of which brings one separator but the last.
fn around(document: &Document<'_>) -> u64 {
    let messages = document.entries().iter().map(|entry| u64::from(entry.bytes) + 1);
    (document.bytes().len() as u64).saturating_sub(messages.sum::<u64>().saturating_sub(1))
}
