//! What a compression aims at: a hard budget, or the share of a window that the profile names.
//!
//! Invariant: a bound is worked out once, before anything is compressed. Called by the compressor.

use epitome_kernel::{SizeGauge, Thread, ThreadSizes};
use epitome_plan::{RequestEnvelope, budget_for_ratio, let_go};
use epitome_types::hook::Budgets;
use epitome_types::{Budget, BudgetUnit};

use super::window::PromptLimit;

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

/// A live conversation was to be held to this, and not to tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInTokens(pub BudgetUnit);

/// What one conversation is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShotBounds {
    /// The provider's limit in tokens, unless it is a guess that nobody needs.
    pub limit: Option<u64>,
    /// The hard budget asked for.
    pub budget: Option<Budget>,
    /// The same for policies: the limit or the budget, in tokens.
    pub live: SessionBounds,
    /// Whether it is a failure when it cannot be met.
    pub enforced: bool,
}

/// What the prompts of a live conversation are held to, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionBounds {
    /// The provider's limit, or the hard budget in its place.
    pub limit: u64,
    /// Whether somebody stated it; otherwise it is the profile's guess.
    pub stated: bool,
    /// Whether it is a failure when a prompt exceeds it.
    pub enforced: bool,
    /// Whether it is a hard budget.
    budgeted: bool,
}

/// What a compression shrinks to where the bounds of a policy contradict each other, as a share of
/// the size from which on it is considered: that of the built-in policy (RULES 19). What the window
/// forces shrinks to no more of the window, or the next turns would be forced as well (RULES 17).
const RELIEF: f64 = 0.625;

/// The bounds of a prompt, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromptBounds {
    /// From here on a warning is given.
    pub warn: u64,
    /// From here on a compression is considered.
    pub soft: u64,
    /// More than this is never sent.
    pub hard: u64,
    /// What a compression shrinks to.
    pub target: u64,
}

impl OneShotBounds {
    /// Returns the thread where copies of files may leave that no prompt would hold.
    pub fn loosened(
        &self,
        thread: &Thread,
        tokens: &ThreadSizes<'_>,
        envelope: RequestEnvelope,
    ) -> Option<Thread> {
        let in_tokens = Budget { unit: BudgetUnit::Tokens, most: self.live.limit };
        let budget = self.budget.unwrap_or(in_tokens);
        let gauge = SizeGauge::for_unit(&budget, tokens.gauge().counter);
        let sizes = match budget.unit {
            BudgetUnit::Tokens => tokens.clone(),
            BudgetUnit::Chars => ThreadSizes::measure(thread.entries(), gauge, envelope.chars),
            BudgetUnit::Bytes => ThreadSizes::measure(thread.entries(), gauge, envelope.bytes),
        };
        let_go(thread, &sizes, budget.most, false)
    }
}

impl SessionBounds {
    fn of(known: PromptLimit) -> Self {
        let stated = known.source.is_stated();
        Self { limit: known.limit, stated, enforced: stated, budgeted: false }
    }

    /// A limit as it was recorded, and whether somebody stated it.
    pub fn recorded(limit: u64, stated: bool) -> Self {
        Self { limit, stated, enforced: stated, budgeted: false }
    }

    fn budgeted(most: u64) -> Self {
        Self { limit: most, stated: true, enforced: true, budgeted: true }
    }

    /// What the policies answered, made sound: nothing exceeds the limit, and a hard budget takes
    /// the place of what would be left free of it.
    pub fn held(&self, answered: &Budgets) -> PromptBounds {
        let limit = self.limit;
        let within = |bound: Option<u64>, most: u64| bound.unwrap_or(most).min(most);
        let hard = if self.budgeted { limit } else { within(answered.hard, limit) };
        let soft = if self.budgeted { limit } else { within(answered.soft, hard) };
        let target = match within(answered.target, hard) {
            above if above > soft => relieved(soft),
            target => target,
        };
        PromptBounds { warn: within(answered.warn, limit), soft, hard, target }
    }

    /// The same, held to no more than this, and with nothing refused where `lenient`.
    pub fn bounded(self, most: Option<u64>, lenient: bool) -> Self {
        let limit = most.map_or(self.limit, |most| self.limit.min(most));
        // A guess holds once the provider refused a prompt.
        let enforced = (self.enforced || most.is_some()) && !lenient;
        Self { limit, enforced, ..self }
    }
}

/// The most that a compression may leave, in tokens, that a prompt of this size forces.
pub fn relieved(forcing: u64) -> u64 {
    share(forcing, RELIEF)
}

/// Returns what is wrong with bounds that a policy answered: each prompt would be compressed to more than it
/// takes, and soon again.
pub fn contradiction(answered: &Budgets) -> Option<String> {
    let (soft, target) = (answered.soft?, answered.target?);
    let held = relieved(soft);
    let what = format!(
        "`target` is {target}, more than `soft`, {soft}: a prompt would be compressed to more than \
         it takes; {held} is aimed at"
    );
    (target > soft).then_some(what)
}

impl PromptBounds {
    /// The same bounds, as policies read them.
    pub fn of(&self, answered: Budgets) -> Budgets {
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
    pub fn counts_tools(self) -> bool {
        self == CompressionTarget::Trigger
    }

    /// The bounds for a thread with these sizes in tokens.
    pub fn bounds(
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
    /// For a budget of characters or bytes.
    pub fn live(
        self,
        known: PromptLimit,
        by_ratio: impl FnOnce(f64) -> u64,
    ) -> Result<SessionBounds, NotInTokens> {
        match self {
            CompressionTarget::Trigger => Ok(SessionBounds::of(known)),
            CompressionTarget::Tokens(most) => Ok(SessionBounds::budgeted(most)),
            CompressionTarget::Ratio(ratio) => Ok(SessionBounds::budgeted(by_ratio(ratio))),
            CompressionTarget::Chars(_) => Err(NotInTokens(BudgetUnit::Chars)),
            CompressionTarget::Bytes(_) => Err(NotInTokens(BudgetUnit::Bytes)),
        }
    }
}

/// Returns a share of a number of tokens, rounded down.
pub(crate) fn share(whole: u64, share: f64) -> u64 {
    (whole as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use epitome_kernel::SizeGauge;
    use epitome_testkit::{FixedCounter, chat};

    use epitome_wire::Format;

    use super::*;
    use crate::limits::{LimitSource, WindowSetting};
    use crate::profile::Profile;

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
