//! What is known of models by their names: windows, sizes, parameters (RULES 19, 30, 31).
//!
//! Invariant: no figure stands in the code, and a table that was read is sound; what a name does not
//! find is not known, and nothing is made up for it. Read by the configuration, asked where nobody
//! states how large a prompt may be.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use epitome_kernel::nearest;
use epitome_model::ModelApi;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::limits::WindowSetting;

const SHIPPED: &str = include_str!("models.toml");

/// What may stand behind the beginning of a model's name.
const ENDS: [char; 5] = ['-', ':', '@', '_', '['];

/// What is known of models.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    /// The entries, the user's own first.
    models: Arc<[KnownModel]>,
    /// Where each name stands first among them: several hooks of each request ask for one.
    by_name: Arc<BTreeMap<String, usize>>,
    /// The sizes of all models of an API.
    sizes: BTreeMap<String, ContextSizes>,
    /// What models do with what they thought, the user's own entries first.
    reasoning: Arc<[Reasoned]>,
}

/// What a chosen context size leaves to the prompt, in tokens.
type ContextSizes = BTreeMap<u64, u64>;

/// What is known of a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownModel {
    name: String,
    /// The API whose server makes room for what it is told.
    #[serde(default, deserialize_with = "api")]
    api: Option<ModelApi>,
    /// The largest prompt, in tokens.
    #[serde(deserialize_with = "tokens")]
    pub window: u64,
    #[serde(default, deserialize_with = "sizes")]
    sizes: ContextSizes,
    /// Its parameters, in billions, where its name does not tell.
    #[serde(default, deserialize_with = "parameters")]
    pub billions: Option<f64>,
}

/// What a model does with what it thought.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasoned {
    name: String,
    /// Whether its provider binds it to the prompt before it (RULES 139 and 140).
    bound: bool,
}

/// Why a model table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the model table: {cause}")]
pub struct ModelTableError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there, and what was expected.
    pub cause: String,
}

/// A window that was asked for by name is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownModel {
    /// No model has this name.
    #[error("the model table has no `{name}`; {}", which(nearest.as_deref(), known))]
    Model {
        /// The name as given.
        name: String,
        /// The name that is nearest to it.
        nearest: Option<String>,
        /// Every name there is.
        known: Vec<String>,
    },
    /// The model has no such size.
    #[error(
        "`{name}` has no context size {size}; the nearest is {nearest}, there is {}",
        list(known)
    )]
    Size {
        /// The model.
        name: String,
        /// The size as given.
        size: u64,
        /// The size that is nearest to it.
        nearest: u64,
        /// Every size there is.
        known: Vec<u64>,
    },
}

fn which(nearest: Option<&str>, known: &[String]) -> String {
    let hint = nearest.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    format!("{hint}there is `{}`; `models` names a table of your own", known.join("`, `"))
}

fn list(known: &[u64]) -> String {
    known.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

impl ModelTable {
    /// This table with a user's own, in the form of the shipped one, before it.
    ///
    /// # Errors
    ///
    /// When a key is missing, unknown or of the wrong type, or a figure is none.
    pub fn extended(&self, text: &str) -> Result<Self, ModelTableError> {
        let own = ModelTableToml::parse(text)?;
        let mut sizes = self.sizes.clone();
        sizes.extend(own.sizes.into_iter().map(|(api, of)| (api, of.0)));
        let models: Arc<[_]> = own.model.into_iter().chain(self.models.iter().cloned()).collect();
        Ok(Self {
            by_name: Arc::new(by_name(&models)),
            models,
            sizes,
            reasoning: own.reasoning.into_iter().chain(self.reasoning.iter().cloned()).collect(),
        })
    }

    /// The entry of a model: the longest beginning of its name; of two the same, the user's own.
    pub fn of(&self, model: &str) -> Option<&KnownModel> {
        let model = model.to_ascii_lowercase();
        let ends = model.match_indices(['/', '.', ':']).map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).find_map(|start| self.beginning(&model[start..]))
    }

    /// The entry of the longest name that a model's name is, or begins with.
    fn beginning(&self, model: &str) -> Option<&KnownModel> {
        let ends = model.rmatch_indices(ENDS).map(|(end, _)| end);
        let mut ends = std::iter::once(model.len()).chain(ends);
        let place = ends.find_map(|end| self.by_name.get(&model[..end]))?;
        self.models.get(*place)
    }

    /// Whether a model's provider binds what it thought to the prompt before it. A model that is not
    /// known is a newer one, and those do (RULES 139 and 140).
    pub fn binds(&self, model: Option<&str>) -> bool {
        let model = model.unwrap_or_default().to_ascii_lowercase();
        let ends = model.match_indices(['/', '.', ':']).map(|(at, _)| at + 1);
        let known = std::iter::once(0).chain(ends).find_map(|start| {
            let named = self.reasoning.iter().rev().filter(|one| one.is_of(&model[start..]));
            named.max_by_key(|one| one.name.len())
        });
        known.is_none_or(|known| known.bound)
    }

    /// The entry of a model that was asked for by name.
    ///
    /// # Errors
    ///
    /// [`UnknownModel::Model`].
    fn named(&self, name: &str) -> Result<&KnownModel, UnknownModel> {
        self.of(name).ok_or_else(|| {
            let known: std::collections::BTreeSet<_> =
                self.models.iter().map(|entry| entry.name.clone()).collect();
            let nearest = nearest(&name.to_ascii_lowercase(), known.iter().map(String::as_str));
            let (name, nearest) = (name.to_owned(), nearest.map(str::to_owned));
            UnknownModel::Model { name, nearest, known: known.into_iter().collect() }
        })
    }

    /// The window of the model of this name: all of it, or the context size that was chosen.
    ///
    /// # Errors
    ///
    /// [`UnknownModel`] for a model that is not in the table, and for a size that it has not.
    pub fn window(&self, name: &str, size: Option<u64>) -> Result<WindowSetting, UnknownModel> {
        let entry = self.named(name)?;
        match size {
            Some(size) => self.offers(entry, size, name).map(|()| WindowSetting::Size(size)),
            None if entry.is_fixed() => Ok(WindowSetting::Limit(entry.window)),
            None => Ok(WindowSetting::Size(entry.window)),
        }
    }

    /// What a context size of a model leaves to the prompt, in tokens, where it is listed.
    pub fn left_of(&self, size: u64, model: &str) -> Option<u64> {
        let entry = self.of(model)?;
        self.offered(entry).get(&size).copied().filter(|_| size <= entry.window)
    }

    /// Whether a model has a context size: one that is not listed, where any are, or that exceeds
    /// the window it has not.
    fn offers(&self, entry: &KnownModel, size: u64, name: &str) -> Result<(), UnknownModel> {
        let offered = self.offered(entry);
        let mut known: Vec<_> =
            offered.keys().copied().filter(|size| *size <= entry.window).collect();
        if !known.contains(&entry.window) {
            known.push(entry.window);
        }
        let is_known = match offered.is_empty() {
            true => size <= entry.window,
            false => known.contains(&size),
        };
        if is_known {
            return Ok(());
        }
        let nearest = known.iter().copied().min_by_key(|known| known.abs_diff(size));
        let nearest = nearest.unwrap_or(entry.window);
        Err(UnknownModel::Size { name: name.to_owned(), size, nearest, known })
    }

    fn offered<'t>(&'t self, entry: &'t KnownModel) -> &'t ContextSizes {
        static NONE: ContextSizes = ContextSizes::new();
        let shared = || entry.api.and_then(|api| self.sizes.get(api.name()));
        match entry.sizes.is_empty() {
            true => shared().unwrap_or(&NONE),
            false => &entry.sizes,
        }
    }
}

impl Reasoned {
    /// Whether it is about a model. A version that goes on behind the name is another model's.
    fn is_of(&self, model: &str) -> bool {
        let Some(rest) = model.strip_prefix(&*self.name) else { return false };
        let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        let version = rest.starts_with('-') && (1..=2).contains(&digits);
        rest.is_empty() || rest.starts_with(ENDS) && !version
    }
}

impl KnownModel {
    /// Whether the window holds without being asked for by name.
    pub fn is_fixed(&self) -> bool {
        self.api.is_none()
    }

    /// The context sizes that it lists itself, the smallest first.
    pub fn sizes(&self) -> Vec<u64> {
        self.sizes.keys().copied().collect()
    }
}

/// Where each name stands first.
fn by_name(models: &[KnownModel]) -> BTreeMap<String, usize> {
    models.iter().enumerate().rev().map(|(place, entry)| (entry.name.clone(), place)).collect()
}

/// The shipped table.
impl Default for ModelTable {
    #[expect(clippy::expect_used, reason = "the text is compiled in, and a test parses it")]
    fn default() -> Self {
        // Every profile has it, and the text is the same each time.
        static PARSED: LazyLock<ModelTable> = LazyLock::new(|| {
            let none = ModelTable {
                models: Arc::default(),
                by_name: Arc::default(),
                sizes: BTreeMap::new(),
                reasoning: Arc::default(),
            };
            none.extended(SHIPPED).expect("the shipped model table is sound")
        });
        PARSED.clone()
    }
}

/// A model table, as TOML spells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTableToml {
    #[serde(default)]
    sizes: BTreeMap<String, ApiSizes>,
    #[serde(default)]
    model: Vec<KnownModel>,
    #[serde(default)]
    reasoning: Vec<Reasoned>,
}

/// The sizes of an API's models.
#[derive(Debug, Deserialize)]
struct ApiSizes(#[serde(deserialize_with = "sizes")] ContextSizes);

impl ModelTableToml {
    fn parse(text: &str) -> Result<Self, ModelTableError> {
        let mut table: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            ModelTableError { line, cause: error.message().to_owned() }
        })?;
        table.model.iter_mut().for_each(|entry| entry.name.make_ascii_lowercase());
        table.reasoning.iter_mut().for_each(|one| one.name.make_ascii_lowercase());
        Ok(table)
    }
}

fn api<'de, D: Deserializer<'de>>(value: D) -> Result<Option<ModelApi>, D::Error> {
    match &*String::deserialize(value)? {
        "ollama" => Ok(Some(ModelApi::Ollama)),
        other => Err(D::Error::custom(format!(
            "`{other}` is no API whose server is told how much room to make; there is `ollama`"
        ))),
    }
}

fn tokens<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    match u64::deserialize(value)? {
        0 => Err(D::Error::custom("0 tokens hold no prompt; expected 1 or more")),
        tokens => Ok(tokens),
    }
}

fn sizes<'de, D: Deserializer<'de>>(value: D) -> Result<ContextSizes, D::Error> {
    let said = BTreeMap::<String, u64>::deserialize(value)?;
    let pair = |(size, left): (String, u64)| match size.parse::<u64>() {
        Ok(size) if left == 0 || left > size => Err(D::Error::custom(format!(
            "a size of {size} cannot leave {left} tokens to the prompt; expected 1 to {size}"
        ))),
        Ok(size) => Ok((size, left)),
        Err(_) => Err(D::Error::custom(format!("`{size}` is no context size; expected tokens"))),
    };
    said.into_iter().map(pair).collect()
}

fn parameters<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    let billions = f64::deserialize(value)?;
    match billions.is_finite() && billions > 0.0 {
        true => Ok(Some(billions)),
        false => Err(D::Error::custom(format!("{billions} billions; expected more than 0"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, window: Option<u64>) {
        assert_eq!(ModelTable::default().of(name).map(|entry| entry.window), window, "{name}");
    }

    #[test]
    fn names_find_their_window() {
        check("claude-sonnet-4-5-20250929", Some(200_000));
        check("us.anthropic.claude-opus-4-1-v1:0", Some(200_000));
        check("anthropic/claude-3.5-sonnet", Some(200_000));
        check("gpt-4o-2024-08-06", Some(128_000));
        check("GPT-4", Some(8192));
        check("gpt-4-0613", Some(8192));
        check("openai/gpt-4.1-mini", Some(1_047_576));
        check("gpt-3.5-turbo-0125", Some(16_385));
        check("ft:gpt-4o-mini:team::x", Some(128_000));
        check("llama3.2:3b", Some(131_072));
        check("llama3", Some(8192));
    }

    #[test]
    fn models_that_are_not_known_bind_what_they_thought() {
        let table = ModelTable::default();
        for (model, bound) in [
            ("claude-sonnet-4-5-20250929", false),
            ("us.anthropic.claude-opus-4-8", false),
            ("claude-opus-5", false),
            ("claude-opus-5[1m]", false),
            ("anthropic/claude-3.5-sonnet", false),
            ("claude-3-7-sonnet-latest", false),
            ("gpt-5.1-codex", false),
            ("o4-mini", false),
            ("GPT-6.1", false),
            ("claude-opus-5-5", true),
            ("claude-opus-5-5-20260901", true),
            ("claude-fable-5-2", true),
            ("claude-fable-5-3", true),
            ("claude-sonnet-6", true),
            ("gpt-6.2", true),
            ("gpt-6.3-mini", true),
            ("somebody/something", true),
        ] {
            assert_eq!(table.binds(Some(model)), bound, "{model}");
        }
        assert!(table.binds(None));
        let own = "[[reasoning]]\nname = \"Something\"\nbound = false\n";
        assert!(!table.extended(own).unwrap().binds(Some("somebody/something")));
    }

    #[test]
    fn what_is_not_sure_is_not_known() {
        for name in ["", "gpt-4x", "gpt-6", "llama3.9", "gpt-4.7", "mistral2", "somebody/something"]
        {
            check(name, None);
        }
    }

    #[test]
    fn a_size_leaves_what_the_table_says() {
        let table = ModelTable::default();
        assert_eq!(table.left_of(4096, "llama3.2:3b"), Some(3482));
        assert_eq!(table.left_of(8192, "llama3.2:3b"), Some(6963));
        assert_eq!(table.left_of(8000, "llama3.2:3b"), None);
        assert_eq!(table.left_of(8192, "tinyllama"), None);
        assert_eq!(table.left_of(4096, "gpt-4o"), None);
        assert_eq!(table.window("llama3.2", Some(4096)), Ok(WindowSetting::Size(4096)));
        assert_eq!(table.window("tinyllama", Some(2048)), Ok(WindowSetting::Size(2048)));
        assert_eq!(table.window("gpt-4o", Some(50_000)), Ok(WindowSetting::Size(50_000)));
    }

    #[test]
    fn what_is_asked_for_by_name_and_unknown_is_told() {
        let table = ModelTable::default();
        let told = |name, size| table.window(name, Some(size)).unwrap_err().to_string();
        let error = told("lama3.2", 4096);
        let start =
            "the model table has no `lama3.2`; did you mean `llama3.2`? there is `chatgpt-4o`,";
        assert!(error.starts_with(start), "{error}");
        assert_eq!(
            told("llama3", 5000),
            "`llama3` has no context size 5000; the nearest is 4096, there is 4096, 8192"
        );
        assert_eq!(
            told("gpt-4o", 200_000),
            "`gpt-4o` has no context size 200000; the nearest is 128000, there is 128000"
        );
    }

    #[test]
    fn a_table_of_ones_own_goes_first() {
        let own = "[[model]]\nname = \"Llama3.2\"\nwindow = 16000\nsizes = { 2000 = 1500 }\n\
                   [[model]]\nname = \"mine\"\nwindow = 9\n[sizes.ollama]\n4096 = 3000\n";
        let table = ModelTable::default().extended(own).unwrap();
        let entry = table.of("llama3.2:1b").unwrap();
        assert_eq!((entry.window, entry.sizes(), entry.is_fixed()), (16_000, vec![2000], true));
        assert_eq!(table.of("team/mine").map(|entry| entry.window), Some(9));
        assert_eq!(table.left_of(4096, "llama3.1"), Some(3000));
        assert_eq!(table.of("gpt-4o"), ModelTable::default().of("gpt-4o"));
    }

    #[test]
    fn mistakes_name_their_line() {
        let check = |text: &str, expected: &str| {
            let error = ModelTable::default().extended(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        let entry = "[[model]]\nname = \"x\"\n";
        check(&format!("{entry}windw = 1\n"), "line 3 of the model table: unknown field `windw`");
        check(&format!("\n{entry}"), "line 2 of the model table: missing field `window`");
        check(&format!("{entry}window = 0\n"), "line 3 of the model table: 0 tokens hold");
        check(&format!("{entry}window = -1\n"), "line 3 of the model table: invalid value");
        check(
            &format!("{entry}window = 1\napi = \"x\"\n"),
            "line 4 of the model table: `x` is no API",
        );
        let sizes = format!("{entry}window = 9\nsizes = {{ 4 = 5 }}\n");
        check(&sizes, "line 4 of the model table: a size of 4 cannot leave 5 tokens");
        let sizes = format!("{entry}window = 9\nsizes = {{ big = 5 }}\n");
        check(&sizes, "line 4 of the model table: `big` is no context size");
        check(&format!("{entry}window = 9\nbillions = 0.0\n"), "line 4 of the model table: 0 bil");
        check("model = ", "line 1 of the model table");
    }
}
