//! What a model's prompts cost, by a table that is shipped and may be extended.
//!
//! Invariant: no price stands in the code, and none is guessed: an entry prices the model of its
//! whole name, whatever its vendor, region and date, and a model without an entry is unpriced. Asked
//! by the trigger for what the cache takes, and wherever money is shown.

use std::sync::{Arc, LazyLock};

use epitome_plan::CachePrices;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

const SHIPPED: &str = include_str!("prices.toml");

/// What a token of a prompt costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// US dollars for a million tokens that are not cached.
    pub input: f64,
    /// What cached tokens cost against that.
    pub cache: CachePrices,
    /// A prompt of more than so many tokens costs so many times as much, the whole of it.
    pub long: Option<(u64, f64)>,
}

/// A price, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote<'a> {
    /// The price.
    pub price: Price,
    /// The entry of the table that names the model; none where the default of a table of the user's
    /// own was taken.
    pub entry: Option<&'a str>,
}

/// A price table.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The entries, the user's own first.
    models: Arc<[Entry]>,
    default: Figures,
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
    /// What a prompt of so many tokens costs, in US dollars, whose tokens come to so many that are
    /// not cached.
    pub fn of(&self, prompt: u64, units: f64) -> f64 {
        let times = self.long.filter(|(above, _)| prompt > *above).map_or(1.0, |(_, times)| times);
        units * times * self.input / 1e6
    }
}

impl Prices {
    /// This table with a user's own, in the form of the shipped one, before it. A default in it
    /// takes the place of the present one.
    ///
    /// # Errors
    ///
    /// When a key is missing, unknown or of the wrong type, or a figure is negative.
    pub fn extended(self, text: &str) -> Result<Self, PriceError> {
        let table = Table::parse(text)?;
        let own = table.model.into_iter().map(Entry::from);
        let models = own.chain(self.models.iter().cloned()).collect();
        Ok(Self { models, default: table.default.unwrap_or(self.default) })
    }

    /// The price of a model; none where it is not known.
    pub fn of(&self, model: Option<&str>) -> Option<Quote<'_>> {
        if let Some(entry) = self.entry(model) {
            let price = entry.figures.price()?;
            return Some(Quote { price, entry: Some(&entry.name) });
        }
        self.default.price().map(|price| Quote { price, entry: None })
    }

    /// What cached tokens of a model cost, against others: the common rule where it is not known.
    /// `hour` says that what is written is kept for an hour.
    pub fn cache(&self, model: Option<&str>, hour: bool) -> CachePrices {
        self.entry(model).map_or(&self.default, |entry| &entry.figures).cache(hour)
    }

    /// What a token of an answer costs against one of a prompt that is not cached.
    pub fn output(&self, model: Option<&str>) -> f64 {
        let own = self.entry(model).and_then(|entry| entry.figures.output);
        own.or(self.default.output).unwrap_or(1.0)
    }

    fn entry(&self, model: Option<&str>) -> Option<&Entry> {
        let name = plain(model?);
        let ends = name.match_indices(['.', '/', ':']).map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).filter(|&start| is_vendor(&name[..start]));
        let wholes: Vec<String> = starts.map(|start| dashed(&name[start..])).collect();
        let shorts = wholes.iter().map(|whole| undated(whole));
        // An entry may be of one date alone; it goes before the one of all of them.
        let mut ways = wholes.iter().map(String::as_str).chain(shorts);
        ways.find_map(|way| self.models.iter().find(|entry| entry.dashed == way))
    }
}

/// A model's name without what a client adds to ask for a larger window.
fn plain(model: &str) -> String {
    let name = model.trim().to_ascii_lowercase();
    match name.split_once('[') {
        Some((name, _)) => name.to_owned(),
        None => name,
    }
}

/// Whether what stands before a name is vendors and regions: words without a digit.
fn is_vendor(before: &str) -> bool {
    !before.bytes().any(|byte| byte.is_ascii_digit())
}

/// A name without its date or version of deployment: `-20250514`, `-2025-05-14`, `@20250514`,
/// `-latest`, `-v1:0`.
fn undated(name: &str) -> &str {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let name = match name.rsplit_once("-v") {
        Some((front, version)) if is_number(&version.replace(':', "")) => front,
        _ => name,
    };
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    let lengths = [8, 10];
    let dated = lengths.into_iter().find_map(|length| {
        let (front, date) = name.split_at_checked(name.len().checked_sub(length)?)?;
        let digits = date.replace('-', "");
        let is_date = digits.len() == 8 && is_number(&digits) && digits.starts_with("20");
        front.strip_suffix('-').filter(|_| is_date)
    });
    dated.unwrap_or(name)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name as it is compared: some vendors write `4.5` for `4-5`.
fn dashed(name: &str) -> String {
    name.replace('.', "-")
}

/// The shipped table.
impl Default for Prices {
    #[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
    fn default() -> Self {
        // Every profile has it, and the text is the same each time.
        static PARSED: LazyLock<Prices> = LazyLock::new(|| {
            let table = Table::parse(SHIPPED).expect("the shipped price table is sound");
            let default = table.default.expect("the shipped price table has a default");
            Prices { models: table.model.into_iter().map(Entry::from).collect(), default }
        });
        PARSED.clone()
    }
}

/// An entry of the table.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    /// The same as models are compared.
    dashed: String,
    figures: Figures,
}

/// A price table, as TOML spells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    default: Option<Figures>,
    #[serde(default)]
    model: Vec<Named>,
}

// Not the figures flattened: then mistakes would not know their line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    #[serde(deserialize_with = "figure")]
    input: f64,
    #[serde(deserialize_with = "figure")]
    read: f64,
    #[serde(deserialize_with = "figure")]
    write: f64,
    #[serde(default, deserialize_with = "some_figure")]
    write_1h: Option<f64>,
    #[serde(default, deserialize_with = "some_figure")]
    output: Option<f64>,
    #[serde(default)]
    above: Option<u64>,
    #[serde(default, deserialize_with = "some_figure")]
    times: Option<f64>,
}

/// What a model costs, or one that no entry names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    #[serde(default, deserialize_with = "some_figure")]
    input: Option<f64>,
    #[serde(deserialize_with = "figure")]
    read: f64,
    #[serde(deserialize_with = "figure")]
    write: f64,
    #[serde(default, deserialize_with = "some_figure")]
    write_1h: Option<f64>,
    #[serde(default, deserialize_with = "some_figure")]
    output: Option<f64>,
    #[serde(default)]
    above: Option<u64>,
    #[serde(default, deserialize_with = "some_figure")]
    times: Option<f64>,
}

fn figure<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    let figure = f64::deserialize(value)?;
    match figure.is_finite() && figure >= 0.0 {
        true => Ok(figure),
        false => Err(D::Error::invalid_value(Unexpected::Float(figure), &"0 or more")),
    }
}

fn some_figure<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    figure(value).map(Some)
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

impl From<Named> for Entry {
    fn from(named: Named) -> Self {
        let Named { name, input, read, write, write_1h, output, above, times } = named;
        let input = Some(input);
        let figures = Figures { input, read, write, write_1h, output, above, times };
        Self { dashed: dashed(&name), name, figures }
    }
}

impl Figures {
    fn price(&self) -> Option<Price> {
        let (input, long) = (self.input?, self.above.zip(self.times));
        Some(Price { input, cache: self.cache(false), long })
    }

    fn cache(&self, hour: bool) -> CachePrices {
        let write = self.write_1h.filter(|_| hour).unwrap_or(self.write);
        CachePrices { read: self.read, write }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prices: &Prices, model: Option<&str>, expected: Option<(&str, f64)>) {
        let quote = prices.of(model);
        let found = quote.map(|quote| (quote.entry.unwrap_or("default"), quote.price.input));
        assert_eq!(found, expected, "{model:?}");
    }

    #[test]
    fn vendor_region_and_date_are_no_part_of_a_name() {
        let prices = Prices::default();
        for name in [
            "claude-opus-4-5",
            "claude-opus-4-5-20251101",
            "claude-opus-4-5@20251101",
            "claude-opus-4-5-latest",
            "claude-opus-4-5[1m]",
            "anthropic/Claude-Opus-4.5",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
        ] {
            check(&prices, Some(name), Some(("claude-opus-4-5", 5.0)));
        }
        check(&prices, Some("gpt-4.1-2025-04-14"), Some(("gpt-4.1", 2.0)));
        check(&prices, Some("openai/gpt-5-mini"), Some(("gpt-5-mini", 0.25)));
    }

    #[test]
    fn no_entry_speaks_for_another_generation() {
        let prices = Prices::default();
        check(&prices, Some("claude-opus-4-20250514"), Some(("claude-opus-4", 15.0)));
        check(&prices, Some("claude-opus-4-1"), Some(("claude-opus-4-1", 15.0)));
        check(&prices, Some("claude-opus-4-7"), Some(("claude-opus-4-7", 5.0)));
        check(&prices, Some("claude-opus-4-8[1m]"), Some(("claude-opus-4-8", 5.0)));
        for name in
            ["claude-opus-4-9", "claude-opus-4-5-x", "claude-opus", "gpt-5.1-mini", "gpt-5.9"]
        {
            check(&prices, Some(name), None);
        }
        for name in ["llama3.2:3b", "", "4-5", "mygpt-5"] {
            check(&prices, Some(name), None);
        }
        check(&prices, None, None);
    }

    #[test]
    fn the_cache_takes_what_the_model_says() {
        let prices = Prices::default();
        let check = |model, hour, read, write| {
            assert_eq!(prices.cache(model, hour), CachePrices { read, write }, "{model:?}");
        };
        check(Some("claude-opus-4-5"), false, 0.1, 1.25);
        check(Some("claude-opus-4-5"), true, 0.1, 2.0);
        check(Some("claude-opus-5-5"), false, 0.05, 1.25);
        check(Some("claude-fable-5-2"), false, 0.025, 1.25);
        check(Some("gpt-4o"), true, 0.5, 1.0);
        check(Some("unheard-of"), false, 0.1, 1.25);
        check(None, true, 0.1, 2.0);
    }

    #[test]
    fn a_table_of_ones_own_goes_first() {
        let own = "[default]\ninput = 0\nread = 0\nwrite = 0\n\
                   [[model]]\nname = \"GPT-5\"\ninput = 9\nread = 0.5\nwrite = 1\n";
        let prices = Prices::default().extended(own).unwrap();
        check(&prices, Some("gpt-5"), Some(("gpt-5", 9.0)));
        check(&prices, Some("gpt-5-nano"), Some(("gpt-5-nano", 0.05)));
        check(&prices, Some("mine"), Some(("default", 0.0)));
    }

    #[test]
    fn an_entry_is_of_the_whole_name_that_it_states() {
        let entry = |name: &str, input: u8| {
            format!("[[model]]\nname = \"{name}\"\ninput = {input}\nread = 0.5\nwrite = 1\n")
        };
        let own = [
            entry("claude-opus-4-5-20251101", 9),
            entry("deepseek-v3", 7),
            entry("house/mistral-latest", 6),
            entry("gpt-4.1-2025-04-14", 4),
        ];
        let prices = Prices::default().extended(&own.concat()).unwrap();
        let dated = Some(("claude-opus-4-5-20251101", 9.0));
        check(&prices, Some("claude-opus-4-5-20251101"), dated);
        check(&prices, Some("anthropic/claude-opus-4.5-20251101"), dated);
        check(&prices, Some("claude-opus-4-5-20260101"), Some(("claude-opus-4-5", 5.0)));
        check(&prices, Some("claude-opus-4-5"), Some(("claude-opus-4-5", 5.0)));
        check(&prices, Some("deepseek-v3"), Some(("deepseek-v3", 7.0)));
        check(&prices, Some("deepseek-v4"), None);
        check(&prices, Some("house/mistral-latest"), Some(("house/mistral-latest", 6.0)));
        check(&prices, Some("gpt-4.1-2025-04-14"), Some(("gpt-4.1-2025-04-14", 4.0)));
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
        let cache = CachePrices { read: 0.1, write: 1.25 };
        let price = Price { input: 3.0, cache, long: Some((200_000, 2.0)) };
        assert!((price.of(100_000, 350_000.0) - 1.05).abs() < 1e-12);
        assert!((price.of(200_001, 350_000.0) - 2.10).abs() < 1e-12);
    }
}
