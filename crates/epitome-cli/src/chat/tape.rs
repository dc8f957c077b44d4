//! What goes to the model and back: over the network, onto a cassette, or from one.
//!
//! Invariant: what is played asks nobody, and wants no key. Called where a model is connected.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::model::{Client, Endpoint, Http, ModelSpec, Player, Recorder, Transport};

use crate::fault::Fault;
use crate::files;

/// The largest cassette that is read, in bytes.
const MOST: u64 = 256 << 20;

/// The way to models.
pub(super) enum Tape {
    /// The network.
    Live(Arc<Http>),
    /// The network, written down for a file.
    Recorded(Recorder, PathBuf),
    /// A cassette.
    Played(Arc<Player>),
}

impl Tape {
    /// The way that the flags name.
    pub(super) fn new(record: Option<&Path>, play: Option<&Path>) -> Result<Self, Fault> {
        if let Some(path) = play {
            let name = path.display();
            let unreadable = |what: String| Fault::unreadable(format!("{name}: {what}"));
            let text = String::from_utf8(files::read(Some(path), MOST)?)
                .map_err(|_| unreadable("is no text in UTF-8".to_owned()))?;
            let player = Player::new(&text).map_err(|error| unreadable(error.to_string()))?;
            return Ok(Self::Played(Arc::new(player)));
        }
        let http = Arc::new(Http::new().map_err(Fault::internal)?);
        Ok(match record {
            Some(path) => {
                // That it cannot be written is known before anything is said.
                drop(files::Output::prepare(path)?);
                Self::Recorded(Recorder::new(http), path.to_owned())
            }
            None => Self::Live(http),
        })
    }

    /// Moves requests.
    pub(super) fn transport(&self) -> Arc<dyn Transport> {
        match self {
            Self::Live(http) => http.clone(),
            Self::Recorded(recorder, _) => Arc::new(recorder.clone()),
            Self::Played(player) => player.clone(),
        }
    }

    /// A variable of the environment, for addresses and keys.
    pub(super) fn var(&self, name: &str) -> Option<String> {
        let stands_in = || {
            let played = matches!(self, Self::Played(_));
            (played && name.ends_with("_API_KEY")).then(|| "of a cassette".to_owned())
        };
        env::var(name).ok().or_else(stands_in)
    }

    /// A client of a model.
    pub(super) fn client(&self, spec: ModelSpec) -> Result<Client, Fault> {
        let endpoint = Endpoint::of(spec, |name| self.var(name)).map_err(Fault::usage)?;
        Ok(Client::new(endpoint, self.transport()))
    }

    /// Writes down what was said so far, where that is wanted.
    pub(super) fn save(&self) -> Result<(), Fault> {
        match self {
            Self::Recorded(recorder, path) => files::write(path, recorder.cassette().as_bytes()),
            Self::Live(_) | Self::Played(_) => Ok(()),
        }
    }
}
