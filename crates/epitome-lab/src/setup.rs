//! The strategy that is tried.
//!
//! Invariant: plain data, so that one setup serves many replays at once. Filled by the host.

use std::sync::Arc;

use async_trait::async_trait;
use epitome::types::{Entry, EntryId, Summary};
use epitome::{
    CachedCounter, Clock, CompressionTarget, Compressor, CompressorBuilder, Format, LanguageModel,
    OwnCompaction, PolicyTracer, Prices, Profile, RequestDocument, ScopeOwner, Summarizer,
    SummaryError, SummaryJob, SummaryStyle, TokenCounter, WindowSetting, for_model, scope,
};

/// Counts where neither the setup nor the recording names a model.
const VOCABULARY: &str = "o200k_base";

/// How conversations are compressed, and what is paid for them.
#[derive(Clone, Default)]
pub struct ReplaySetup {
    /// The profile.
    pub profile: Profile,
    /// How large a prompt the provider takes; as the profile says unless told otherwise.
    pub window: WindowSetting,
    /// How far to compress.
    pub target: CompressionTarget,
    /// Counts and pays as for this model; otherwise for the profile's, or the one that a recording
    /// names.
    pub model: Option<String>,
    /// How summaries are worded, in place of the profile's option.
    pub style: Option<SummaryStyle>,
    /// How many of the newest messages are left alone, in place of the profile's share.
    pub keep_recent: Option<usize>,
    /// What a token costs.
    pub prices: Prices,
    /// Says what time it is, in place of the machine's clock.
    pub clock: Option<Clock>,
    /// Watches the policies while they are asked.
    pub tracer: Option<Arc<dyn PolicyTracer>>,
    /// Whether files of policies that change meanwhile are taken up.
    pub watched: bool,
    /// Who writes summaries.
    pub writers: ReplayWriters,
    /// Whose conversation it is, where that is not this machine's alone.
    pub owner: Option<ScopeOwner>,
}

/// Who writes the summaries of a replay.
#[derive(Clone, Default)]
pub struct ReplayWriters {
    /// Models that are asked, in place of those that the profile names; as it says where there are
    /// none.
    pub models: Vec<Arc<dyn LanguageModel>>,
    /// Writes without a model, in place of the extractor.
    pub extracts: Option<Arc<dyn Summarizer>>,
}

/// One that several replays share.
struct SharedSummarizer(Arc<dyn Summarizer>);

#[async_trait]
impl Summarizer for SharedSummarizer {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn summarize(&self, job: &SummaryJob<'_>) -> Result<Summary, SummaryError> {
        self.0.summarize(job).await
    }

    async fn ahead(&self, jobs: &[SummaryJob<'_>]) {
        self.0.ahead(jobs).await;
    }

    fn outdated(&self, entries: &[&Entry]) -> Vec<EntryId> {
        self.0.outdated(entries)
    }
}

impl ReplaySetup {
    /// The model whose counts and prices hold for a recording.
    pub(crate) fn model_for<'a>(&'a self, recorded: Option<&'a str>) -> Option<&'a str> {
        self.model.as_deref().or(self.profile.model()).or(recorded)
    }

    /// The counter of the session that [`ReplaySetup::builder`] makes.
    pub(crate) fn counter(&self, recorded: Option<&str>) -> Arc<dyn TokenCounter> {
        Arc::new(CachedCounter::new(for_model(self.model_for(recorded).unwrap_or(VOCABULARY))))
    }

    /// Where the client of a recording would have made its prompts smaller by itself.
    pub(crate) fn unaided(&self, recorded: &RequestDocument<'_>, client: &str) -> OwnCompaction {
        let model = self.model_for(recorded.model());
        let window = self.profile.window_of_model(model, recorded.format());
        OwnCompaction::of(Some(client), window)
    }

    /// The scope that a conversation is recorded in.
    pub(crate) fn scope(&self) -> String {
        let profile = self.profile.name();
        self.owner.as_ref().map_or_else(|| scope(profile), |owner| owner.scope(profile))
    }

    /// The limit of prompts like this one, in tokens.
    pub(crate) fn limit(&self, recorded: &RequestDocument<'_>) -> u64 {
        self.builder(recorded.format()).limit_for_request(recorded).limit
    }

    /// A session in the making, for requests in this format.
    pub(crate) fn builder(&self, format: Format) -> CompressorBuilder {
        let Self {
            profile,
            window,
            target,
            model,
            style,
            keep_recent,
            prices: _,
            clock,
            tracer,
            watched,
            writers: ReplayWriters { models, extracts },
            owner,
        } = self;
        let mut builder = Compressor::builder()
            .profile(profile.clone())
            .window(*window)
            .target(*target)
            .input_format(format);
        if !models.is_empty() {
            builder = builder.models(models.clone());
        }
        if let Some(extracts) = extracts {
            builder = builder.summarizer(SharedSummarizer(Arc::clone(extracts)));
        }
        if let Some(model) = model {
            builder = builder.count_as(model);
        }
        if let Some(style) = style {
            builder = builder.style(*style);
        }
        if let Some(messages) = keep_recent {
            builder = builder.keep_recent(*messages);
        }
        if let Some(clock) = clock.clone() {
            builder = builder.clock(move || clock());
        }
        if let Some(owner) = owner {
            builder = builder.owner(owner.clone());
        }
        if *watched {
            builder = builder.watch();
        }
        if let Some(tracer) = tracer.clone() {
            builder = builder.tracer(tracer);
        }
        builder
    }
}
