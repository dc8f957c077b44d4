//! What a model's prompts cost, by a table that is shipped and may be extended.
//!
//! Invariant: no price stands in the code; a model that no entry names is priced by the table's
//! default, and the quote says so.

use epitome::CachePrices;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::Traffic;

const SHIPPED: &str = include_str!("../prices.toml");

/// What a token of a prompt costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// US dollars for a million tokens that are not cached.
    pub input: f64,
    /// What cached tokens cost against that.
    pub cache: CachePrices,
}

/// A price, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote<'a> {
    /// The price.
    pub price: Price,
    /// The entry of the table that names the model; none where its default was taken.
    pub entry: Option<&'a str>,
}

/// A price table.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The entries, the user's own first.
    models: Vec<Entry>,
    default: Price,
}

/// Why a price table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the price table: {cause}")]
pub struct PriceError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there, and what was expected.
    pub cause: String,
}

impl Price {
    /// What prompts cost, in US dollars.
    pub fn of(self, traffic: Traffic) -> f64 {
        traffic.cost(self.cache) * self.input / 1e6
    }
}

impl Prices {
    /// This table with a user's own, in the form of the shipped one, before it. A default in it
    /// takes the place of the present one.
    ///
    /// # Errors
    ///
    /// When a key is missing, unknown or of the wrong type, or a figure is negative.
    pub fn extended(mut self, text: &str) -> Result<Self, PriceError> {
        let table = Table::parse(text)?;
        self.models.splice(0..0, table.model);
        if let Some(default) = table.default {
            self.default = default.price();
        }
        Ok(self)
    }

    /// The price of a model: of the longest name that its name begins with; of two the same, the
    /// user's own.
    pub fn of(&self, model: Option<&str>) -> Quote<'_> {
        let name = model.unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let named = self.models.iter().rev().filter(|entry| name.starts_with(&entry.name));
        match named.max_by_key(|entry| entry.name.len()) {
            Some(entry) => Quote { price: entry.price(), entry: Some(&entry.name) },
            None => Quote { price: self.default, entry: None },
        }
    }
}

/// The shipped table.
impl Default for Prices {
    #[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
    fn default() -> Self {
        let table = Table::parse(SHIPPED).expect("the shipped price table is sound");
        let default = table.default.expect("the shipped price table has a default").price();
        Self { models: table.model, default }
    }
}

/// A price table, as TOML spells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    default: Option<Figures>,
    #[serde(default)]
    model: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(deserialize_with = "figure")]
    input: f64,
    #[serde(deserialize_with = "figure")]
    read: f64,
    #[serde(deserialize_with = "figure")]
    write: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    #[serde(deserialize_with = "figure")]
    input: f64,
    #[serde(deserialize_with = "figure")]
    read: f64,
    #[serde(deserialize_with = "figure")]
    write: f64,
}

fn figure<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    let figure = f64::deserialize(value)?;
    match figure.is_finite() && figure >= 0.0 {
        true => Ok(figure),
        false => Err(D::Error::invalid_value(Unexpected::Float(figure), &"0 or more")),
    }
}

impl Table {
    fn parse(text: &str) -> Result<Self, PriceError> {
        let mut table: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            PriceError { line, cause: error.message().to_owned() }
        })?;
        table.model.iter_mut().for_each(|entry| entry.name.make_ascii_lowercase());
        Ok(table)
    }
}

impl Figures {
    fn price(&self) -> Price {
        Price { input: self.input, cache: CachePrices { read: self.read, write: self.write } }
    }
}

impl Entry {
    fn price(&self) -> Price {
        let Self { input, read, write, .. } = *self;
        Figures { input, read, write }.price()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prices: &Prices, model: Option<&str>, entry: Option<&str>, input: f64) {
        let quote = prices.of(model);
        assert_eq!((quote.entry, quote.price.input), (entry, input), "{model:?}");
    }

    #[test]
    fn the_longest_name_that_fits_is_meant() {
        let prices = Prices::default();
        check(&prices, Some("claude-opus-4-5-20251101"), Some("claude-opus-4-5"), 5.0);
        check(&prices, Some("claude-opus-4-1"), Some("claude-opus-4"), 15.0);
        check(&prices, Some("anthropic/Claude-Sonnet-4-5"), Some("claude-sonnet"), 3.0);
        check(&prices, Some("gpt-5.1-codex"), Some("gpt-5"), 1.25);
        check(&prices, Some("gpt-5-mini"), Some("gpt-5-mini"), 0.25);
        check(&prices, Some("llama3.2:3b"), None, 3.0);
        check(&prices, None, None, 3.0);
    }

    #[test]
    fn a_table_of_ones_own_goes_first() {
        let own = "[default]\ninput = 0\nread = 0\nwrite = 0\n\
                   [[model]]\nname = \"GPT-5\"\ninput = 9\nread = 0.5\nwrite = 1\n";
        let prices = Prices::default().extended(own).unwrap();
        check(&prices, Some("gpt-5"), Some("gpt-5"), 9.0);
        check(&prices, Some("gpt-5-nano"), Some("gpt-5-nano"), 0.05);
        check(&prices, Some("mine"), None, 0.0);
    }

    #[test]
    fn mistakes_name_their_line() {
        let check = |text: &str, expected: &str| {
            let error = Prices::default().extended(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            "[[model]]\nname = \"x\"\nimput = 1\n",
            "line 3 of the price table: unknown field `imput`",
        );
        check(
            "\n[[model]]\nname = \"x\"\ninput = 1\nread = 1\n",
            "line 2 of the price table: missing field `write`",
        );
        check(
            "[default]\ninput = 1\nread = -0.1\nwrite = 1\n",
            "line 3 of the price table: invalid value",
        );
    }

    #[test]
    fn money_is_tokens_times_price() {
        let price = Price { input: 3.0, cache: CachePrices { read: 0.1, write: 1.25 } };
        let traffic = Traffic { read: 1_000_000, written: 200_000 };
        assert!((price.of(traffic) - (0.3 + 0.75)).abs() < 1e-12);
    }
}
