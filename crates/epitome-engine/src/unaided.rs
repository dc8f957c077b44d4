//! What a client would have sent without us: the other side of every saving that is claimed.
//!
//! Invariant: pure; never more than the window, and never more than came. A history that outgrows
//! the window could not have been sent: the client would have made it smaller itself, or would have
//! begun anew. What its prompts would have cost is reckoned from here alone, by the proxy's ledger,
//! by replays and by comparisons.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const SHIPPED: &str = include_str!("clients.toml");

/// Where a client makes its prompts smaller by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCompaction {
    /// The largest prompt that it sends, in tokens.
    pub most: u64,
    /// What is left of that behind it, in tokens.
    pub left: u64,
}

/// A client without us, from request to request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnaidedClient {
    /// Tokens of the history that its compactions have taken out of the prompt.
    dropped: u64,
    /// Its last prompt.
    last: u64,
}

/// What it would have sent for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnaidedPrompt {
    /// Tokens of the prompt.
    pub tokens: u64,
    /// How many of them stand in the prompt before it.
    pub shared: u64,
    /// Tokens of the prompt by which it had its history summed up first, and how many of those stand
    /// in the prompt before; none where it had no need.
    pub compaction: Option<[u64; 2]>,
}

impl OwnCompaction {
    /// That of a client in a window of so many tokens, by the beginning of its name; of one that is
    /// not known it is when the window is full.
    pub fn of(client: Option<&str>, window: u64) -> Self {
        let client = client.unwrap_or_default().to_ascii_lowercase();
        let known = CLIENTS.client.iter().find(|known| client.starts_with(&known.name));
        let rule = known.map_or(&CLIENTS.default, |known| &known.rule);
        let share = |share: f64| (window as f64 * share) as u64;
        // A window that is hardly more than the reserve is none that the client knows of.
        let reserve = Some(rule.reserve).filter(|reserve| reserve * 2 < window).unwrap_or_default();
        let most = share(rule.share).min(window - reserve);
        Self { most, left: rule.left.unwrap_or(u64::MAX).min(share(rule.left_share)).min(most) }
    }
}

impl UnaidedClient {
    /// The next request, whose history is so many tokens as it came.
    pub fn ask(&mut self, came: u64, own: OwnCompaction) -> UnaidedPrompt {
        // A history that was cut, or rewound, has lost what was dropped before what is left.
        let tokens = came.saturating_sub(self.dropped).max(came.min(own.left));
        let last = self.last;
        let prompt = match tokens > own.most {
            true => UnaidedPrompt {
                tokens: own.left,
                shared: 0,
                // Where nothing was sent before, nobody knows what was summed up.
                compaction: (last > 0).then_some([own.most, last.min(own.most)]),
            },
            false => UnaidedPrompt { tokens, shared: last.min(tokens), compaction: None },
        };
        self.dropped = came - prompt.tokens;
        self.last = prompt.tokens;
        prompt
    }
}

/// What is known of clients.
#[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
static CLIENTS: LazyLock<Clients> =
    LazyLock::new(|| toml::from_str(SHIPPED).expect("the shipped table of clients is sound"));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    default: Rule,
    client: Vec<KnownClient>,
}

#[derive(Debug, Deserialize)]
struct KnownClient {
    name: String,
    #[serde(flatten)]
    rule: Rule,
}

/// When a client makes a prompt smaller, and to what.
#[derive(Debug, Deserialize)]
struct Rule {
    /// At this share of the window.
    #[serde(default = "whole")]
    share: f64,
    /// Or where so many tokens of it are left, if that is earlier.
    #[serde(default)]
    reserve: u64,
    /// So many tokens stay.
    left: Option<u64>,
    /// Or this share of the window, if that is less.
    #[serde(default = "whole")]
    left_share: f64,
}

fn whole() -> f64 {
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a history, the prompt with what is shared, and the prompt of the compaction
    /// before it.
    type AskedPrompt = (u64, [u64; 2], Option<[u64; 2]>);

    #[track_caller]
    fn check(own: OwnCompaction, requests: &[AskedPrompt]) {
        let mut client = UnaidedClient::default();
        for &(came, [tokens, shared], compaction) in requests {
            let expected = UnaidedPrompt { tokens, shared, compaction };
            assert_eq!(client.ask(came, own), expected, "{came} tokens");
            assert!(expected.tokens <= came && expected.tokens <= own.most);
        }
    }

    #[test]
    fn below_the_threshold_all_is_sent() {
        let own = OwnCompaction { most: 100_000, left: 20_000 };
        check(own, &[(10_000, [10_000, 0], None), (30_000, [30_000, 10_000], None)]);
        check(own, &[(100_000, [100_000, 0], None)]);
    }

    /// By hand: 90,000 fit; 110,000 do not, so 100,000 are summed up, of which 90,000 were sent
    /// before, and 20,000 are left. From there it grows by what comes: 115,000 less the 90,000 that
    /// are gone are 25,000.
    #[test]
    fn what_outgrows_the_window_is_never_claimed() {
        let own = OwnCompaction { most: 100_000, left: 20_000 };
        check(
            own,
            &[
                (90_000, [90_000, 0], None),
                (110_000, [20_000, 0], Some([100_000, 90_000])),
                (115_000, [25_000, 20_000], None),
                (190_000, [100_000, 25_000], None),
                (190_001, [20_000, 0], Some([100_000, 100_000])),
            ],
        );
    }

    #[test]
    fn a_rewound_history_is_no_less_than_what_is_left_of_it() {
        let own = OwnCompaction { most: 100_000, left: 20_000 };
        check(
            own,
            &[
                (110_000, [20_000, 0], None),
                (100_000, [20_000, 20_000], None),
                (5_000, [5_000, 5_000], None),
                (9_000, [9_000, 5_000], None),
            ],
        );
    }

    #[test]
    fn clients_stop_where_they_say() {
        let check = |client, window, most, left| {
            assert_eq!(OwnCompaction::of(client, window), OwnCompaction { most, left });
        };
        check(Some("claude-cli/2.1.197 (external)"), 200_000, 167_000, 40_000);
        check(Some("codex_cli_rs/0.5"), 272_000, 244_800, 54_400);
        check(Some("opencode/1.18"), 200_000, 180_000, 15_000);
        check(Some("GeminiCLI/0.9"), 1_048_576, 524_288, 157_286);
        check(Some("somebody"), 200_000, 200_000, 40_000);
        check(None, 200_000, 200_000, 40_000);
        check(Some("claude-cli/2"), 10_000, 10_000, 2_000);
    }
}
