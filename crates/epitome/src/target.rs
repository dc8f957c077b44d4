//! What a compression aims at: a hard budget, or the share of a window that the profile names.
//!
//! Invariant: a bound is worked out once, before anything is compressed. Called by the compressor.

use epitome_kernel::{Sizes, Thread};
use epitome_plan::{CachePrices, TriggerOptions, by_ratio};
use epitome_types::{Budget, Cause, Unit};
use epitome_wire::Format;

use crate::Error;
use crate::profile::{Options, Profile};

/// How far to compress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Target {
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
pub enum Window {
    /// The profile's guess for the format; it is never enforced, only aimed at (SPEC 4.6).
    #[default]
    Guessed,
    /// The context size chosen, in tokens, of which the prompt may take the profile's share.
    Size(u64),
    /// The provider's limit as it is, in tokens.
    Limit(u64),
}

/// What one conversation is compressed to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// The provider's limit in tokens, unless it is a guess that nobody needs.
    pub(crate) limit: Option<u64>,
    /// The hard budget asked for.
    pub(crate) budget: Option<Budget>,
    /// What to shrink to, the most wanted first; empty where the conversation is left alone.
    pub(crate) attempts: Vec<Budget>,
    /// Whether it is a failure when the last attempt cannot be met.
    pub(crate) enforced: bool,
}

/// What the prompts of a live conversation are held to, in tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Live {
    /// The provider's limit.
    pub(crate) limit: u64,
    /// Whether it is a failure when a prompt exceeds it.
    pub(crate) enforced: bool,
    /// From here on a warning is given.
    pub(crate) warn: u64,
    pub(crate) trigger: TriggerOptions,
}

impl Live {
    /// What a compression tries to shrink to, the most wanted first.
    pub(crate) fn attempts(&self, cause: Cause) -> Vec<u64> {
        let TriggerOptions { target, hard, .. } = self.trigger;
        match cause {
            Cause::Soft | Cause::Manual => vec![target],
            Cause::Hard => vec![target, target.midpoint(hard), hard, self.limit],
        }
    }

    /// The bound that is never exceeded.
    pub(crate) fn budget(&self) -> Budget {
        Budget { unit: Unit::Tokens, most: self.limit }
    }
}

impl Target {
    /// Whether tool schemas count: they take room in a window, and no budget speaks of them.
    pub(crate) fn counts_tools(self) -> bool {
        self == Target::Trigger
    }

    /// The bounds for a thread with these sizes in tokens.
    pub(crate) fn bounds(
        self,
        window: Window,
        format: Format,
        options: &Options,
        thread: &Thread,
        tokens: &Sizes<'_>,
    ) -> Bounds {
        let stated = window.stated(options);
        let hard = match self {
            Target::Trigger => None,
            Target::Tokens(most) => Some(Budget { unit: Unit::Tokens, most }),
            Target::Chars(most) => Some(Budget { unit: Unit::Chars, most }),
            Target::Bytes(most) => Some(Budget { unit: Unit::Bytes, most }),
            Target::Ratio(ratio) => Some(by_ratio(thread, tokens, ratio)),
        };
        if let Some(budget) = hard {
            let (budget, attempts) = (Some(budget), vec![budget]);
            return Bounds { limit: stated, budget, attempts, enforced: true };
        }
        let limit = stated.unwrap_or_else(|| options.limit.guess(format));
        let in_tokens = |most| Budget { unit: Unit::Tokens, most };
        let attempts = if tokens.total() < share(limit, options.trigger.soft) {
            Vec::new()
        } else {
            vec![in_tokens(share(limit, options.trigger.target)), in_tokens(limit)]
        };
        Bounds { limit: Some(limit), budget: None, attempts, enforced: stated.is_some() }
    }

    /// The bounds of a live conversation. A hard budget takes the place of the window.
    ///
    /// # Errors
    ///
    /// [`Error::NotInTokens`] for a budget of characters or bytes.
    pub(crate) fn live(
        self,
        window: Window,
        format: Format,
        options: &Options,
        thread: &Thread,
        tokens: &Sizes<'_>,
    ) -> Result<Live, Error> {
        let stated = window.stated(options);
        let hard = match self {
            Target::Trigger => None,
            Target::Tokens(most) => Some(most),
            Target::Ratio(ratio) => Some(by_ratio(thread, tokens, ratio).most),
            Target::Chars(_) => return Err(Error::NotInTokens { unit: Unit::Chars }),
            Target::Bytes(_) => return Err(Error::NotInTokens { unit: Unit::Bytes }),
        };
        let enforced = hard.or(stated).is_some();
        let limit = hard.or(stated).unwrap_or_else(|| options.limit.guess(format));
        let reserve = options.limit.reserve.min(share(limit, options.limit.reserve_share));
        let reserve = if hard.is_some() { 0 } else { reserve };
        let trigger = TriggerOptions {
            soft: if hard.is_some() { limit } else { share(limit, options.trigger.soft) },
            hard: limit - reserve,
            target: share(limit, options.trigger.target),
            cooldown: options.compress.minimum_gain,
            prices: CachePrices { read: options.cache.read, write: options.cache.write },
        };
        Ok(Live { limit, enforced, warn: share(limit, options.trigger.warn), trigger })
    }
}

impl Window {
    /// The limit that prompts in this format are held to under a profile, in tokens.
    pub fn limit(self, profile: &Profile, format: Format) -> u64 {
        self.stated(&profile.options).unwrap_or_else(|| profile.options.limit.guess(format))
    }

    /// The provider's limit, where somebody said what it is.
    pub(crate) fn stated(self, options: &Options) -> Option<u64> {
        match self {
            Window::Guessed => None,
            Window::Size(size) => Some(share(size, options.limit.size_share)),
            Window::Limit(limit) => Some(limit),
        }
    }
}

fn share(whole: u64, share: f64) -> u64 {
    (whole as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use epitome_kernel::Gauge;
    use epitome_testkit::{FixedCounter, chat};

    use super::*;
    use crate::Profile;

    /// The bounds of a conversation of two messages with `words` tokens in all.
    fn bounds(target: Target, window: Window, words: u64) -> Bounds {
        struct Words;
        impl epitome_kernel::Counter for Words {
            fn id(&self) -> &str {
                "words"
            }
            fn count(&self, text: &str) -> u64 {
                epitome_kernel::Counter::count(&FixedCounter::Words, text)
            }
            fn image(&self, _: &epitome_types::Image) -> u64 {
                0
            }
            fn message(&self) -> u64 {
                0
            }
        }
        let text = "word ".repeat(words as usize - 1);
        let thread = Thread::new(chat().assistant(&text).user("end").entries(), &[]);
        let gauge = Gauge { counter: &Words, unit: Unit::Tokens };
        let tokens = Sizes::of(thread.entries(), gauge, 0);
        target.bounds(window, Format::OpenAi, &Profile::default().options, &thread, &tokens)
    }

    fn check(window: Window, words: u64, limit: u64, attempts: &[u64]) {
        let bounds = bounds(Target::Trigger, window, words);
        let found: Vec<_> = bounds.attempts.iter().map(|budget| budget.most).collect();
        assert_eq!((bounds.limit, &*found), (Some(limit), attempts), "{window:?} {words}");
        assert_eq!(bounds.enforced, window != Window::Guessed);
    }

    #[test]
    fn a_window_is_compressed_from_the_trigger_on() {
        check(Window::Limit(1000), 799, 1000, &[]);
        check(Window::Limit(1000), 800, 1000, &[500, 1000]);
        check(Window::Guessed, 800, 128_000, &[]);
    }

    #[test]
    fn a_size_leaves_its_share_to_the_prompt_rounded_down() {
        for (size, limit) in [(8192, 6963), (8000, 6800), (4096, 3481)] {
            check(Window::Size(size), 10, limit, &[]);
        }
    }

    #[test]
    fn a_budget_is_met_whatever_the_trigger_says() {
        let bounds = bounds(Target::Ratio(4.0), Window::Guessed, 41);
        let budget = Budget { unit: Unit::Tokens, most: 1 + 10 };
        assert_eq!((bounds.budget, bounds.limit), (Some(budget), None));
        assert_eq!((bounds.attempts, bounds.enforced), (vec![budget], true));
    }
}
