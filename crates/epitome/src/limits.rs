//! What a compression aims at: a hard budget, or the share of a window that the profile names.
//!
//! Invariant: a bound is worked out once, before anything is compressed. Called by the compressor.

use std::fmt;

use epitome_kernel::{HookJob, PolicyError, Thread, ThreadSizes};
use epitome_plan::budget_for_ratio;
use epitome_types::hook::{Budgets, BudgetsJob, ModelFacts};
use epitome_types::{Budget, BudgetUnit};
use epitome_wire::Format;
use serde::Serialize;

use crate::Error;
use crate::models::KnownModel;
use crate::policy_runner::{Decision, PolicyRunner};
use crate::profile::Profile;

/// How far to compress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CompressionTarget {
    /// As the profile says: from a share of the window on, down to a smaller one.
    #[default]
    Trigger,
    /// To at most so many tokens: text, call arguments and a constant for each message. Tool
    /// schemas do not count.
    Tokens(u64),
    /// To at most so many characters of the message texts, joined by a newline.
    Chars(u64),
    /// To at most so many bytes of the encoded request.
    Bytes(u64),
    /// To this part of the tokens that are not pinned: 4 is a quarter.
    Ratio(f64),
}

/// How large a prompt the provider takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WindowSetting {
    /// The profile's guess for the format; it is never enforced, only aimed at (RULES 31).
    #[default]
    Guessed,
    /// The context size chosen, in tokens, of which the prompt may take the profile's share.
    Size(u64),
    /// The provider's limit as it is, in tokens.
    Limit(u64),
}

/// A limit, and who says so (RULES 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PromptLimit {
    /// The largest prompt, in tokens.
    pub limit: u64,
    /// Who says so.
    pub source: LimitSource,
}

impl PromptLimit {
    /// What a request says itself of the size of its context, in tokens (Ollama's `num_ctx`);
    /// whoever configured another outranks it.
    pub(crate) fn of_request(context_size: Option<u64>) -> Option<Self> {
        let limit = context_size.filter(|size| *size > 0)?;
        Some(Self { limit, source: LimitSource::Request })
    }
}

/// Who says how large a prompt a provider takes, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "config", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitSource {
    /// Whoever configured it or set a flag.
    User,
    /// The request itself, or a header with it.
    Request,
    /// The server, asked for it.
    Probe,
    /// The provider, when it refused a prompt.
    Learned,
    /// The model table, by the model's name; a guess.
    Table,
    /// Nobody; a guess by the API.
    Default,
}

impl LimitSource {
    /// Whether it is more than a guess: a guess is aimed at, and never enforced before the provider
    /// refused a prompt.
    pub fn is_stated(self) -> bool {
        !matches!(self, Self::Table | Self::Default)
    }
}

impl fmt::Display for LimitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "stated by the user",
            Self::Request => "stated by the request",
            Self::Probe => "told by the server",
            Self::Learned => "learned from a refusal",
            Self::Table => "guessed by the model table",
            Self::Default => "guessed by the API",
        })
    }
}

/// What one conversation is held to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneShotBounds {
    /// The provider's limit in tokens, unless it is a guess that nobody needs.
    pub(crate) limit: Option<u64>,
    /// The hard budget asked for.
    pub(crate) budget: Option<Budget>,
    /// The same for policies: the limit or the budget, in tokens.
    pub(crate) live: SessionBounds,
    /// Whether it is a failure when it cannot be met.
    pub(crate) enforced: bool,
}

/// What the prompts of a live conversation are held to, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SessionBounds {
    /// The provider's limit, or the hard budget in its place.
    pub(crate) limit: u64,
    /// Whether somebody stated it; otherwise it is the profile's guess.
    pub(crate) stated: bool,
    /// Whether it is a failure when a prompt exceeds it.
    pub(crate) enforced: bool,
    /// Whether it is a hard budget.
    budgeted: bool,
}

/// What a compression shrinks to where the bounds of a policy contradict each other, as a share of
/// the size from which on it is considered: that of the built-in policy (RULES 19).
const RELIEF: f64 = 0.625;

/// The bounds of a prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PromptBounds {
    /// From here on a warning is given.
    pub(crate) warn: u64,
    /// From here on a compression is considered.
    pub(crate) soft: u64,
    /// More than this is never sent.
    pub(crate) hard: u64,
    /// What a compression shrinks to.
    pub(crate) target: u64,
}

impl SessionBounds {
    fn of(known: PromptLimit) -> Self {
        let stated = known.source.is_stated();
        Self { limit: known.limit, stated, enforced: stated, budgeted: false }
    }

    /// A limit as it was recorded, and whether somebody stated it.
    pub(crate) fn recorded(limit: u64, stated: bool) -> Self {
        Self { limit, stated, enforced: stated, budgeted: false }
    }

    fn budgeted(most: u64) -> Self {
        Self { limit: most, stated: true, enforced: true, budgeted: true }
    }

    /// What the policies answered, made sound: nothing exceeds the limit, and a hard budget takes
    /// the place of what would be left free of it.
    pub(crate) fn held(&self, answered: &Budgets) -> PromptBounds {
        let limit = self.limit;
        let within = |bound: Option<u64>, most: u64| bound.unwrap_or(most).min(most);
        let hard = if self.budgeted { limit } else { within(answered.hard, limit) };
        let soft = if self.budgeted { limit } else { within(answered.soft, hard) };
        let target = match within(answered.target, hard) {
            above if above > soft => share(soft, RELIEF),
            target => target,
        };
        PromptBounds { warn: within(answered.warn, limit), soft, hard, target }
    }

    /// The same, held to no more than this, and with nothing refused where `lenient`.
    pub(crate) fn bounded(self, most: Option<u64>, lenient: bool) -> Self {
        let limit = most.map_or(self.limit, |most| self.limit.min(most));
        // A guess holds once the provider refused a prompt.
        let enforced = (self.enforced || most.is_some()) && !lenient;
        Self { limit, enforced, ..self }
    }
}

/// The bounds that a chain answered. A policy whose bounds contradict each other is told of.
pub(crate) fn answered(council: &PolicyRunner, said: Decision<Budgets>) -> Budgets {
    let policy = said.policy();
    let said = said.value.unwrap_or_default();
    if let Some(what) = contradiction(&said) {
        let error = PolicyError { policy, hook: BudgetsJob::HOOK, what };
        council.notes().errors.push(error);
    }
    said
}

/// What is wrong with bounds that a policy answered: each prompt would be compressed to more than it
/// takes, and soon again.
fn contradiction(answered: &Budgets) -> Option<String> {
    let (soft, target) = (answered.soft?, answered.target?);
    let held = share(soft, RELIEF);
    let what = format!(
        "`target` is {target}, more than `soft`, {soft}: a prompt would be compressed to more than \
         it takes; {held} is aimed at"
    );
    (target > soft).then_some(what)
}

impl PromptBounds {
    /// The same bounds, as policies read them.
    pub(crate) fn of(&self, answered: Budgets) -> Budgets {
        Budgets {
            warn: Some(self.warn),
            soft: Some(self.soft),
            hard: Some(self.hard),
            target: Some(self.target),
            ..answered
        }
    }
}

impl CompressionTarget {
    /// Whether tool schemas count: they take room in a window, and no budget speaks of them.
    pub(crate) fn counts_tools(self) -> bool {
        self == CompressionTarget::Trigger
    }

    /// The bounds for a thread with these sizes in tokens.
    pub(crate) fn bounds(
        self,
        known: PromptLimit,
        thread: &Thread,
        tokens: &ThreadSizes<'_>,
    ) -> OneShotBounds {
        let hard = match self {
            CompressionTarget::Trigger => None,
            CompressionTarget::Tokens(most) => Some(Budget { unit: BudgetUnit::Tokens, most }),
            CompressionTarget::Chars(most) => Some(Budget { unit: BudgetUnit::Chars, most }),
            CompressionTarget::Bytes(most) => Some(Budget { unit: BudgetUnit::Bytes, most }),
            CompressionTarget::Ratio(ratio) => Some(budget_for_ratio(thread, tokens, ratio)),
        };
        let Some(budget) = hard else {
            let live = SessionBounds::of(known);
            let (limit, enforced) = (Some(known.limit), live.enforced);
            return OneShotBounds { limit, budget: None, live, enforced };
        };
        let most = if budget.unit == BudgetUnit::Tokens { budget.most } else { known.limit };
        let limit = known.source.is_stated().then_some(known.limit);
        OneShotBounds {
            limit,
            budget: Some(budget),
            live: SessionBounds::budgeted(most),
            enforced: true,
        }
    }

    /// The bounds of a live conversation. A hard budget takes the place of the window; `by_ratio`
    /// works out that of a ratio, in tokens.
    ///
    /// # Errors
    ///
    /// [`Error::NotInTokens`] for a budget of characters or bytes.
    pub(crate) fn live(
        self,
        known: PromptLimit,
        by_ratio: impl FnOnce(f64) -> u64,
    ) -> Result<SessionBounds, Error> {
        match self {
            CompressionTarget::Trigger => Ok(SessionBounds::of(known)),
            CompressionTarget::Tokens(most) => Ok(SessionBounds::budgeted(most)),
            CompressionTarget::Ratio(ratio) => Ok(SessionBounds::budgeted(by_ratio(ratio))),
            CompressionTarget::Chars(_) => Err(Error::NotInTokens { unit: BudgetUnit::Chars }),
            CompressionTarget::Bytes(_) => Err(Error::NotInTokens { unit: BudgetUnit::Bytes }),
        }
    }
}

impl WindowSetting {
    /// The limit that prompts in this format are held to under a profile, in tokens.
    pub fn limit(self, profile: &Profile, format: Format) -> u64 {
        self.known(profile, format, None).limit
    }

    /// The same of prompts to a model, by the name that a request gives it, with who says so.
    pub fn known(self, profile: &Profile, format: Format, model: Option<&str>) -> PromptLimit {
        let model = profile.addressee(model);
        match self.stated(profile, model) {
            Some(limit) => PromptLimit { limit, source: LimitSource::User },
            None => profile.guess(format, model),
        }
    }

    /// The context size, where one was chosen.
    pub(crate) fn size(self) -> Option<u64> {
        match self {
            WindowSetting::Size(size) => Some(size),
            WindowSetting::Guessed | WindowSetting::Limit(_) => None,
        }
    }

    /// The provider's limit, where somebody said what it is.
    fn stated(self, profile: &Profile, model: Option<&str>) -> Option<u64> {
        match self {
            WindowSetting::Guessed => None,
            WindowSetting::Size(size) => {
                let listed = model.and_then(|model| profile.table.left_of(size, model));
                Some(listed.unwrap_or_else(|| share(size, profile.options.limit.size_share)))
            }
            WindowSetting::Limit(limit) => Some(limit),
        }
    }
}

impl Profile {
    /// The model by whose entry in the model table windows go: the one that was asked for by name,
    /// that tokens are counted as, or that a request names.
    fn addressee<'a>(&'a self, of_request: Option<&'a str>) -> Option<&'a str> {
        self.window_of.as_deref().or(self.model()).or(of_request)
    }

    /// What policies are told of the model that a request names.
    pub(crate) fn facts(
        &self,
        of_request: Option<&str>,
        window: WindowSetting,
        live: &SessionBounds,
    ) -> ModelFacts {
        let entry = self.addressee(of_request).and_then(|model| self.table.of(model));
        ModelFacts {
            name: of_request.map(str::to_owned),
            size: window.size(),
            limit: live.limit,
            stated: live.stated,
            sizes: entry.map(KnownModel::sizes).unwrap_or_default(),
            billions: entry.and_then(|entry| entry.billions),
        }
    }

    /// The limit that is assumed for a model where nobody states one: a guess (RULES 31).
    fn guess(&self, format: Format, model: Option<&str>) -> PromptLimit {
        let entry = model.and_then(|model| self.table.of(model)).filter(|entry| entry.is_fixed());
        match entry {
            Some(entry) => PromptLimit { limit: entry.window, source: LimitSource::Table },
            None => {
                let limit = self.options.limit.guess(format);
                PromptLimit { limit, source: LimitSource::Default }
            }
        }
    }
}

fn share(whole: u64, share: f64) -> u64 {
    (whole as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use epitome_kernel::SizeGauge;
    use epitome_testkit::{FixedCounter, chat};

    use super::*;
    use crate::Profile;

    /// The bounds of a conversation of two messages with `words` tokens in all.
    fn bounds(target: CompressionTarget, window: WindowSetting, words: u64) -> OneShotBounds {
        struct Words;
        impl epitome_kernel::TokenCounter for Words {
            fn id(&self) -> &str {
                "words"
            }
            fn count(&self, text: &str) -> u64 {
                epitome_kernel::TokenCounter::count(&FixedCounter::Words, text)
            }
            fn image(&self, _: &epitome_types::ImagePart) -> u64 {
                0
            }
            fn message(&self) -> u64 {
                0
            }
        }
        let text = "word ".repeat(words as usize - 1);
        let thread = Thread::new(chat().assistant(&text).user("end").entries(), &[]);
        let gauge = SizeGauge { counter: &Words, unit: BudgetUnit::Tokens };
        let tokens = ThreadSizes::measure(thread.entries(), gauge, 0);
        let known = window.known(&Profile::default(), Format::OpenAi, None);
        target.bounds(known, &thread, &tokens)
    }

    fn check(window: WindowSetting, limit: u64) {
        let bounds = bounds(CompressionTarget::Trigger, window, 10);
        assert_eq!((bounds.limit, bounds.live.limit), (Some(limit), limit), "{window:?}");
        assert_eq!(bounds.enforced, window != WindowSetting::Guessed);
    }

    #[test]
    fn a_size_leaves_its_share_to_the_prompt_rounded_down() {
        for (size, limit) in [(8192, 6963), (8000, 6800), (4096, 3481)] {
            check(WindowSetting::Size(size), limit);
        }
        check(WindowSetting::Limit(1000), 1000);
        check(WindowSetting::Guessed, 128_000);
    }

    #[test]
    fn a_model_that_is_listed_has_its_own_figures() {
        let check = |window: WindowSetting, format, model, limit, source| {
            let known = window.known(&Profile::default(), format, Some(model));
            assert_eq!(known, PromptLimit { limit, source }, "{window:?} {model}");
        };
        let guessed = |format, model, limit, source| {
            check(WindowSetting::Guessed, format, model, limit, source);
        };
        check(WindowSetting::Size(4096), Format::Ollama, "llama3.2:3b", 3482, LimitSource::User);
        check(WindowSetting::Size(4096), Format::Ollama, "somebodys", 3481, LimitSource::User);
        check(WindowSetting::Limit(4096), Format::Ollama, "llama3.2:3b", 4096, LimitSource::User);
        guessed(Format::OpenAi, "gpt-4-0613", 8192, LimitSource::Table);
        guessed(Format::OpenAi, "somebodys", 128_000, LimitSource::Default);
        guessed(Format::Anthropic, "somebodys", 200_000, LimitSource::Default);
        // What a model was trained for is not what its server makes room for.
        guessed(Format::Ollama, "llama3.2:3b", 6800, LimitSource::Default);
    }

    #[test]
    fn a_budget_is_met_whatever_the_window() {
        let bounds = bounds(CompressionTarget::Ratio(4.0), WindowSetting::Guessed, 41);
        let budget = Budget { unit: BudgetUnit::Tokens, most: 1 + 10 };
        assert_eq!((bounds.budget, bounds.limit), (Some(budget), None));
        assert_eq!((bounds.live.limit, bounds.enforced), (11, true));
    }

    #[test]
    fn what_policies_answer_never_exceeds_the_limit() {
        let live = SessionBounds { limit: 1000, stated: true, enforced: true, budgeted: false };
        let said = Budgets { soft: Some(2000), hard: Some(900), ..Budgets::default() };
        assert_eq!(
            live.held(&said),
            PromptBounds { warn: 1000, soft: 900, hard: 900, target: 900 }
        );
        let live = SessionBounds { budgeted: true, ..live };
        let said = Budgets { soft: Some(500), target: Some(400), ..said };
        assert_eq!(
            live.held(&said),
            PromptBounds { warn: 1000, soft: 1000, hard: 1000, target: 400 }
        );
    }

    #[test]
    fn no_compression_aims_at_more_than_it_is_considered_from() {
        let live = SessionBounds { limit: 1000, stated: true, enforced: true, budgeted: false };
        let check = |soft, target, aim, is_named: bool| {
            let said = Budgets { soft: Some(soft), target, ..Budgets::default() };
            assert_eq!(live.held(&said).target, aim);
            assert_eq!(contradiction(&said).is_some(), is_named, "{said:?}");
        };
        check(800, Some(500), 500, false);
        check(800, Some(800), 800, false);
        check(400, Some(401), 250, true);
        // Where the policy leaves it to the others, there is nothing to name.
        check(400, None, 250, false);
    }
}
