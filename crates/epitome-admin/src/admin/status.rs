//! How a session stands (RULES 50).
//!
//! Invariant: the bounds of the levels are the profile's own, and nothing is shown that the journal
//! does not record.

use epitome_config::limits::LimitSource;
use epitome_kernel::StoreError;
use epitome_types::{CompactionCause, RecordedCompaction, ReplaceMethod, SessionInfo, TokenUsage};
use serde::Serialize;

use super::marks::{ToolMarks, UnmetWish, WatermarkStatus, pending};
use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::learned::{self, CountCalibration, ModelKnowledge, SilentTruncation};
use crate::regret::RegretCounts;

/// How full the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WindowLevel {
    /// There is room.
    Roomy,
    /// It is filling: a live conversation warns.
    Filling,
    /// A compression is due as soon as it pays.
    Due,
    /// The window forces a compression.
    Full,
}

/// Results that were made smaller before they were first sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArrivalSavings {
    /// How many.
    pub results: u64,
    /// Tokens saved by it, in each request that holds them.
    pub tokens: u64,
}

/// A compression that was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PastCompression {
    /// The epoch.
    pub epoch: String,
    /// Which compression of its history it is, counted from 1.
    pub number: u32,
    /// When it was made, ISO 8601.
    pub at: String,
    /// Why.
    pub cause: CompactionCause,
    /// Tokens of the prompt before and after.
    pub tokens: [u64; 2],
    /// The share of must-keep facts that are still in the prompt.
    pub confidence: f64,
    /// Whether it was taken back.
    pub undone: bool,
    /// What left with it, and what of that was fetched again since; only where one session is shown,
    /// and none of another branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regret: Option<RegretCounts>,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionStatus {
    /// The session.
    pub session: String,
    /// Its title.
    pub title: String,
    /// The profile.
    pub profile: String,
    /// The model last asked for.
    pub model: Option<String>,
    /// When its last message was recorded, ISO 8601.
    pub last: String,
    /// What was sent, in figures.
    #[serde(flatten)]
    pub sums: StatusFigures,
    /// How full the window is.
    #[serde(flatten)]
    pub window: WindowStatus,
    /// What is out of the prompt.
    #[serde(flatten)]
    pub savings: StatusSavings,
    /// What was asked for, and marked.
    #[serde(flatten)]
    pub wishes: StatusWishes,
    /// How many texts of its history were masked before they were recorded; only where one session is
    /// asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<u64>,
    /// What to do.
    pub recommendation: String,
    /// The compressions that the session made, oldest first.
    pub history: Vec<PastCompression>,
}

/// What was sent of a session, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StatusFigures {
    /// Messages.
    pub messages: u32,
    /// Requests.
    pub turns: u64,
    /// Tokens of the newest prompt: as it came, and as it was sent.
    pub tokens: [u64; 2],
    /// Tokens of all prompts together.
    pub total: [u64; 2],
    /// Answers that came back through the proxy.
    pub answers: u64,
    /// What the provider counted for them, in its own tokens.
    pub usage: TokenUsage,
}

/// How full the window of a session is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowStatus {
    /// The limit that the newest prompt was held to.
    pub limit: u64,
    /// Who says so, as far as can be told from the records; none where the request or the server did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_source: Option<LimitSource>,
    /// How the provider counts, as its answers say; the limit takes it into account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountCalibration>,
    /// The last prompt of which the model's server read but a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortened: Option<SilentTruncation>,
    /// The share of the limit in use, in percent.
    pub percent: u64,
    /// How full that is.
    pub level: WindowLevel,
}

/// What is out of the prompt of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusSavings {
    /// Compressions that are not taken back.
    pub compressions: u32,
    /// The epoch in force; only where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<String>,
    /// Tool results that were put into the store on arrival; only where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offloaded: Option<ArrivalSavings>,
    /// Tool results that were digested on arrival; only where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digested: Option<ArrivalSavings>,
}

/// What was asked for in a session, and marked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusWishes {
    /// Who asked for a compression that the next request looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The one that was asked for last, where a request made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet: Option<UnmetWish>,
    /// The watermark (RULES 35); only where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark: Option<WatermarkStatus>,
    /// What marks came to, by tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<ToolMarks>,
}

impl From<&RecordedCompaction> for PastCompression {
    fn from(recorded: &RecordedCompaction) -> Self {
        let epoch = &recorded.epoch;
        Self {
            epoch: epoch.id.short(),
            number: epoch.number,
            at: epoch.at.clone(),
            cause: epoch.cause,
            tokens: epoch.outcome.tokens,
            confidence: epoch.outcome.confidence,
            undone: recorded.undone,
            regret: None,
        }
    }
}

impl SessionAdmin {
    /// How one session stands.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn status(&self, name: Option<&str>) -> Result<SessionStatus, AdminError> {
        let history = self.history(name)?;
        let mut status = self.status_of(&history.info)?;
        let (offloaded, digested) = self.arrivals(&history)?;
        (status.savings.offloaded, status.savings.digested) = (Some(offloaded), Some(digested));
        status.savings.in_force = history.in_force().map(|epoch| epoch.id.short());
        let acts = self.journal.acts_in_force(&self.scope, &history.info.name)?;
        status.wishes.watermark = WatermarkStatus::of(&acts, history.keys());
        let said = history.messages.iter().chain(&history.answer);
        status.masked = Some(said.map(|message| message.masked).sum());
        Ok(status)
    }

    /// How a session stands, as far as can be said without reading its messages.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn status_of(&self, info: &SessionInfo) -> Result<SessionStatus, StoreError> {
        let history: Vec<_> = self.journal.compactions_of_session(&self.scope, &info.name)?;
        let acts = self.journal.acts_in_force(&self.scope, &info.name)?;
        let (used, limit) = (info.figures.tokens[1], info.figures.limit);
        let level = self.level(used, limit);
        let taught = self.taught(info)?;
        let known = info.format.parse().ok().map(|format| {
            self.profile.window().known(&self.profile, format, info.model.as_deref())
        });
        let counted = taught.as_ref().and_then(|taught| taught.counted);
        let limit_source = match (known, &taught) {
            (Some(known), _) if known.source == LimitSource::User => Some(known.source),
            // In our tokens it may be less than the server says.
            (_, Some(taught)) if taught.window.is_some_and(|window| limit <= window) => {
                Some(LimitSource::Probe)
            }
            (_, Some(taught)) if taught.limit == Some(limit) => Some(LimitSource::Learned),
            (Some(known), _) => {
                let may_limit = |it: CountCalibration| it.can_limit_to(limit, known.limit);
                let is_its = known.limit == limit || counted.is_some_and(may_limit);
                is_its.then_some(known.source)
            }
            _ => None,
        };
        Ok(SessionStatus {
            session: info.name.clone(),
            title: info.title.clone(),
            profile: self.profile.name().to_owned(),
            model: info.model.clone(),
            last: info.last.clone(),
            sums: StatusFigures {
                messages: info.figures.messages,
                turns: info.figures.turns,
                tokens: info.figures.tokens,
                total: info.figures.total,
                answers: info.figures.answers,
                usage: info.figures.usage,
            },
            window: WindowStatus {
                limit,
                limit_source,
                counted,
                shortened: taught.and_then(|taught| taught.shortened),
                percent: percent(used, limit),
                level,
            },
            savings: StatusSavings {
                compressions: info.figures.compressions,
                in_force: None,
                offloaded: None,
                digested: None,
            },
            wishes: StatusWishes {
                asked: pending(&acts).map(str::to_owned),
                unmet: UnmetWish::from_acts(&acts),
                watermark: None,
                marks: ToolMarks::of(&acts),
            },
            masked: None,
            recommendation: self.recommendation(level, &history),
            history: history.iter().map(PastCompression::from).collect(),
        })
    }

    /// What answers and refusals taught of the model that a session speaks to.
    fn taught(&self, info: &SessionInfo) -> Result<Option<ModelKnowledge>, StoreError> {
        let all = learned::taught(&*self.journal, &self.scope)?;
        let is_of =
            |taught: &ModelKnowledge| taught.format == info.format && taught.model == info.model;
        Ok(all.into_iter().find(is_of))
    }

    /// How full a window of `limit` tokens is with `tokens` in it.
    pub(super) fn level(&self, tokens: u64, limit: u64) -> WindowLevel {
        let options = &self.profile.options;
        let share = |share: f64| (limit as f64 * share) as u64;
        let reserve = options.limit.reserve.min(share(options.limit.reserve_share));
        match tokens {
            _ if tokens >= limit.saturating_sub(reserve) => WindowLevel::Full,
            _ if tokens >= share(options.trigger.soft) => WindowLevel::Due,
            _ if tokens >= share(options.trigger.warn) => WindowLevel::Filling,
            _ => WindowLevel::Roomy,
        }
    }

    fn recommendation(&self, level: WindowLevel, history: &[RecordedCompaction]) -> String {
        let held = history.last().is_some_and(|recorded| recorded.undone);
        match (level, held) {
            (WindowLevel::Roomy, _) => "nothing to do".to_owned(),
            (WindowLevel::Filling | WindowLevel::Due, true) => {
                "the last compression is taken back and what it had touched is held; \
                 `epitome session redo` puts it in force again"
                    .to_owned()
            }
            (WindowLevel::Filling, false) => format!(
                "nothing to do: from {:.0} % of the limit on it is compressed when that pays",
                self.profile.options.trigger.soft * 100.0
            ),
            (WindowLevel::Due, false) => {
                "the next request is compressed when that pays; a good moment to end a task"
                    .to_owned()
            }
            (WindowLevel::Full, _) => {
                "the next request is compressed; if this comes again soon, go on in a new session"
                    .to_owned()
            }
        }
    }

    fn arrivals(
        &self,
        history: &SessionHistory,
    ) -> Result<(ArrivalSavings, ArrivalSavings), StoreError> {
        let (mut offloaded, mut digested) = (ArrivalSavings::default(), ArrivalSavings::default());
        for rewrite in self.journal.rewrites(&self.scope, &history.info.name, history.keys())? {
            let saved = match rewrite.how {
                ReplaceMethod::Offload => &mut offloaded,
                ReplaceMethod::Append => continue,
                _ => &mut digested,
            };
            saved.results += 1;
            saved.tokens += rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
        }
        Ok((offloaded, digested))
    }
}

/// Returns a part of a limit in percent, rounded as the page and `top` round it.
fn percent(used: u64, limit: u64) -> u64 {
    (used as f64 * 100.0 / limit.max(1) as f64).round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use epitome_config::profile::Profile;
    use epitome_kernel::Journal;
    use epitome_store::MemoryStore;
    use epitome_types::SessionFigures;
    use epitome_wire::Format;

    use super::WindowLevel::{Due, Filling, Full, Roomy};
    use super::*;
    use crate::learned::{AnsweredPrompt, LearnedModel};

    #[test]
    fn a_level_is_named_by_the_bounds_of_the_profile() {
        let keeper = SessionAdmin::new(Arc::new(MemoryStore::new()), Profile::default());
        let levels =
            [0, 1259, 1260, 1439, 1440, 1574, 1575].map(|tokens| keeper.level(tokens, 1800));
        assert_eq!(levels, [Roomy, Roomy, Filling, Filling, Due, Due, Full]);
    }

    #[test]
    fn a_share_of_the_window_is_rounded() {
        let shares = [(0, 0), (4, 1000), (6, 1000), (718, 1000), (999, 1000)];
        let shares = shares.map(|(used, limit)| percent(used, limit));
        assert_eq!(shares, [0, 0, 1, 72, 100]);
    }

    /// A limit that takes into account how the provider counts is still the one that the guess made.
    #[test]
    fn a_limit_in_our_tokens_has_the_source_of_the_one_in_theirs() {
        let journal = Arc::new(MemoryStore::new());
        let keeper = SessionAdmin::new(journal.clone(), Profile::default());
        let said = br#"[{"role":"user","content":"Go on."}]"#;
        keeper.import(said, None, Some("talk"), "2026-01-02T03:04:05Z").unwrap();
        let mut info = keeper.session(Some("talk")).unwrap();
        let known = keeper.profile.window().known(&keeper.profile, Format::OpenAi, None);
        info.format = Format::OpenAi.name().to_owned();
        let check = |limit: u64, expected: Option<LimitSource>| {
            let info =
                SessionInfo { figures: SessionFigures { limit, ..info.figures }, ..info.clone() };
            let status = keeper.status_of(&info).unwrap();
            assert_eq!(status.window.limit_source, expected, "{limit}");
        };
        let less = known.limit * 96 / 100;
        check(known.limit, Some(known.source));
        check(less, None);
        let mut learned = LearnedModel::default();
        for tokens in [1000, 2000, 3000] {
            learned.answer(AnsweredPrompt { tokens, images: 0, counted: tokens, cuts: false });
        }
        let about = learned::key(&info.format, None, "o200k_base");
        journal.learn(keeper.scope(), &about, &learned.record().written()).unwrap();
        check(known.limit, Some(known.source));
        check(less, Some(known.source));
        check(known.limit / 2, None);
    }
}
