//! What the upstream is told to answer: turns, faults, a limit, the manner of its streams.
//!
//! Invariant: a script is data and can be written as JSON; what a request is answered with follows
//! from the script and the request alone, except for faults, which are used up in order. Read by
//! `server`, written by tests and through `/__script`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to answer, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The answers of a conversation's turns, in order; what comes after them is text alone.
    pub turns: Vec<Turn>,
    /// How often the turns are played, one time after another; 0 means once.
    pub repeat: u64,
    /// Say the texts as they are, without the words by which turns are found again; each prompt is
    /// then answered with the next turn, whatever it says.
    pub plain: bool,
    /// What goes wrong, one entry for each prompt that arrives. A prompt with the header
    /// `x-upstream-fault` has its own instead.
    pub faults: Vec<Fault>,
    /// The most tokens that a prompt may have (four characters of JSON each); Ollama cuts instead.
    pub limit: Option<u64>,
    /// How a longer prompt is refused, in place of the API's own words; `{limit}` and `{size}` stand
    /// for the tokens.
    pub wording: Option<String>,
    /// The chat template of the model, as servers render it: what it does not take is refused.
    pub template: Option<String>,
    /// Has Ollama read as much of a prompt as the request tells it to make room for.
    pub makes_room: bool,
    /// The context size that Ollama's `/api/ps` tells of the model once it answered a prompt.
    pub loaded: Option<u64>,
    /// Compress answers for those who accept gzip, streams too.
    pub gzip: bool,
    /// Send keep-alives between the events of a stream.
    pub pings: bool,
    /// Milliseconds between two chunks of a stream.
    pub pace: u64,
    /// Cut streams into chunks of so many bytes, wherever their events end; 0 sends each event as
    /// a chunk.
    pub chunk: usize,
    /// Keep no bodies in the log, so that a long run does not fill the memory.
    pub forget: bool,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What the model thinks first; it is signed, and must come back as it was.
    pub thinking: Option<String>,
    /// What it says, after the words by which the upstream finds its turns again.
    pub text: String,
    /// The tools that it calls, all at once. Those that the request does not declare are left out.
    pub calls: Vec<Call>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name, as the request declares it.
    pub name: String,
    /// Its arguments; `{turn}` in a text stands for the number of the turn. A bare text is the
    /// input of a custom tool.
    pub input: Value,
}

/// What goes wrong with one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// An error in the API's own words, with `retry-after` where it is a 429.
    Status(u16),
    /// An error as a page of a gateway that knows no API.
    Page(u16),
    /// No answer, ever.
    Hang,
    /// No answer until another script is followed; then the one of its own.
    Hold,
    /// Half of the stream, then nothing, ever.
    Stall,
    /// Half of the stream, then the connection is cut.
    Cut,
    /// The connection is closed before any answer.
    Drop,
    /// Half of the stream, then the API's own error event.
    Error,
    /// So many milliseconds before each chunk.
    Slow(u64),
    /// One event of the stream has so many bytes of text.
    Huge(usize),
}

impl Script {
    /// A model that calls the same tools for so many rounds and then says that it is done.
    #[must_use]
    pub fn agent(rounds: u64, calls: Vec<Call>) -> Self {
        let turn = Turn { calls, ..Turn::default() };
        Self { turns: vec![turn], repeat: rounds, ..Self::default() }
    }

    /// What to answer in a turn, counted from 1.
    pub(crate) fn turn(&self, number: u64) -> Option<&Turn> {
        let played = u64::try_from(self.turns.len()).unwrap_or(u64::MAX);
        let all = played.saturating_mul(self.repeat.max(1));
        let at = number.checked_sub(1).filter(|at| *at < all)?;
        self.turns.get(usize::try_from(at % played).ok()?)
    }
}

impl Call {
    /// A call with arguments.
    #[must_use]
    pub fn new(name: &str, input: Value) -> Self {
        Self { name: name.to_owned(), input }
    }

    /// The arguments in a turn.
    pub(crate) fn input_at(&self, turn: u64) -> Value {
        fn fill(value: &mut Value, turn: &str) {
            match value {
                Value::String(text) => *text = text.replace("{turn}", turn),
                Value::Array(items) => items.iter_mut().for_each(|item| fill(item, turn)),
                Value::Object(members) => members.values_mut().for_each(|item| fill(item, turn)),
                _ => {}
            }
        }
        let mut input = self.input.clone();
        fill(&mut input, &turn.to_string());
        input
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        fn number<T: FromStr>(figure: Option<&str>, text: &str) -> Result<T, String> {
            let parsed = figure.and_then(|figure| figure.parse().ok());
            parsed.ok_or_else(|| format!("`{text}`: expected a number after the word"))
        }
        let (word, figure) = text.split_once(' ').map_or((text, None), |(w, f)| (w, Some(f)));
        Ok(match word {
            "none" => Self::None,
            "status" => Self::Status(number(figure, text)?),
            "page" => Self::Page(number(figure, text)?),
            "hang" => Self::Hang,
            "hold" => Self::Hold,
            "stall" => Self::Stall,
            "cut" => Self::Cut,
            "drop" => Self::Drop,
            "error" => Self::Error,
            "slow" => Self::Slow(number(figure, text)?),
            "huge" => Self::Huge(number(figure, text)?),
            _ => {
                return Err(format!(
                    "`{text}` is no fault: expected none, status N, page N, hang, hold, stall, \
                     cut, drop, error, slow MS or huge BYTES"
                ));
            }
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Status(code) => write!(f, "status {code}"),
            Self::Page(code) => write!(f, "page {code}"),
            Self::Hang => f.write_str("hang"),
            Self::Hold => f.write_str("hold"),
            Self::Stall => f.write_str("stall"),
            Self::Cut => f.write_str("cut"),
            Self::Drop => f.write_str("drop"),
            Self::Error => f.write_str("error"),
            Self::Slow(pause) => write!(f, "slow {pause}"),
            Self::Huge(size) => write!(f, "huge {size}"),
        }
    }
}

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_are_words() {
        for text in [
            "none",
            "status 429",
            "page 502",
            "hang",
            "hold",
            "stall",
            "cut",
            "drop",
            "error",
            "slow 5",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert!("status".parse::<Fault>().is_err());
        assert!("burn".parse::<Fault>().unwrap_err().contains("is no fault"));
    }

    #[test]
    fn turns_are_repeated_and_then_end() {
        let script: Script = serde_json::from_value(json!({
            "turns": [{"text": "a"}, {"text": "b"}], "repeat": 2, "faults": ["cut"]}))
        .unwrap();
        let said: Vec<_> = (0..6).map(|n| script.turn(n).map(|turn| turn.text.as_str())).collect();
        assert_eq!(said, [None, Some("a"), Some("b"), Some("a"), Some("b"), None]);
    }

    #[test]
    fn arguments_name_their_turn() {
        let call = Call::new("read", json!({"path": ["log-{turn}.txt"], "from": 1}));
        assert_eq!(call.input_at(7), json!({"path": ["log-7.txt"], "from": 1}));
    }
}
