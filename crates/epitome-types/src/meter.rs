//! What a session's trigger goes by from request to request.

use serde::{Deserialize, Serialize};

/// What was measured of a conversation up to its newest request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeterReading {
    /// What not compressing has cost since the last epoch, in the price of a token that is not
    /// cached.
    pub rent: f64,
    /// The size at which a compression brought too little, in tokens, until one brings enough.
    pub stalled: Option<u64>,
    /// What that compression came to, in tokens, where it was made.
    pub came_to: Option<u64>,
    /// What its requests cost.
    pub account: Account,
}

/// What the requests of a conversation cost so far, by the rule of the provider's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// How many there were.
    pub requests: u64,
    /// Tokens that the first of them came with.
    pub first: u64,
    /// Tokens of the newest: as it came, and as it was sent.
    pub tokens: [u64; 2],
    /// What the window would have forced out by now of what came, in tokens.
    pub outgrown: u64,
    /// What they cost in the price of a token that is not cached: as they came, but for what the
    /// window forces, and as they were sent.
    pub cost: [f64; 2],
}
