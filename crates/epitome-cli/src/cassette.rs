//! What goes to models and back: over the network, onto a cassette, or from one.
//!
//! Invariant: what is played asks nobody, and wants no key. Called by verbs that ask models.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use epitome::Profile;
use epitome::model::{
    CassettePlayer, CassetteRecorder, HttpTransport, ModelClient, ModelEndpoint, ModelSpec,
    Transport,
};

use crate::fault::{CliError, warn};
use crate::outputs::{FileFate, OutputFile};
use crate::text::counted;
use crate::{files, settings};

/// The largest cassette that is read, in bytes.
const MOST: u64 = 256 << 20;

/// Whether what goes to models and back is recorded, or played; at most one of these.
#[derive(clap::Args)]
pub(crate) struct TapeFlags {
    /// Writes what goes to models and back onto a cassette, without the key of the API
    #[arg(long, value_name = "FILE", conflicts_with = "cassette")]
    record: Option<PathBuf>,
    /// Plays a cassette in place of models; what is asked must be what was recorded
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,
}

impl TapeFlags {
    /// The files that they name.
    pub(crate) fn files(&self) -> [OutputFile<'_>; 2] {
        [
            ("`--record`", self.record.as_deref(), FileFate::Written),
            ("`--cassette`", self.cassette.as_deref(), FileFate::Read),
        ]
    }

    /// A profile with the models that it names ready to be asked, and the way to them where there
    /// are any.
    pub(crate) fn connected(
        &self,
        profile: Profile,
    ) -> Result<(Profile, Option<ModelTransport>), CliError> {
        let profile = settings::permitted(profile)?;
        if profile.names_models() {
            let tape = ModelTransport::new(self)?;
            return Ok((tape.connected(profile, None)?, Some(tape)));
        }
        let flag = [("--record", &self.record), ("--cassette", &self.cassette)];
        match flag.into_iter().find(|(_, path)| path.is_some()) {
            Some((flag, _)) => Err(CliError::usage(format!(
                "`{flag}` is of no use where no model is asked; name one with `--summarizer`"
            ))),
            None => Ok((profile, None)),
        }
    }
}

/// The way to models.
pub(crate) enum ModelTransport {
    /// The network.
    Live(Arc<HttpTransport>),
    /// The network, written down for a file.
    Recorded(CassetteRecorder, PathBuf),
    /// A cassette.
    Played(Arc<CassettePlayer>),
}

impl ModelTransport {
    /// Whether anybody is asked who answers when he likes; a cassette wants its order.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// The way that the flags name.
    pub(crate) fn new(flags: &TapeFlags) -> Result<Self, CliError> {
        if let Some(path) = &flags.cassette {
            let name = path.display();
            let unreadable = |what: String| CliError::unreadable(format!("{name}: {what}"));
            let text = String::from_utf8(files::read(Some(path), MOST)?)
                .map_err(|_| unreadable("is no text in UTF-8".to_owned()))?;
            let player =
                CassettePlayer::new(&text).map_err(|error| unreadable(error.to_string()))?;
            return Ok(Self::Played(Arc::new(player)));
        }
        let http = Arc::new(HttpTransport::new().map_err(CliError::internal)?);
        Ok(match &flags.record {
            Some(path) => {
                // That it cannot be written is known before anything is said.
                drop(files::PendingFile::prepare(path)?);
                Self::Recorded(CassetteRecorder::new(http), path.clone())
            }
            None => Self::Live(http),
        })
    }

    /// Moves requests.
    fn transport(&self) -> Arc<dyn Transport> {
        match self {
            Self::Live(http) => http.clone(),
            Self::Recorded(recorder, _) => Arc::new(recorder.clone()),
            Self::Played(player) => player.clone(),
        }
    }

    /// A variable of the environment, for addresses and keys.
    fn var(&self, name: &str) -> Option<String> {
        let stands_in = || {
            let played = matches!(self, Self::Played(_));
            (played && name.ends_with("_API_KEY")).then(|| "of a cassette".to_owned())
        };
        env::var(name).ok().or_else(stands_in)
    }

    /// A client of a model.
    pub(crate) fn client(&self, spec: ModelSpec) -> Result<ModelClient, CliError> {
        let endpoint = ModelEndpoint::of(spec, |name| self.var(name)).map_err(CliError::usage)?;
        Ok(ModelClient::new(endpoint, self.transport()))
    }

    /// A profile with the models that it names ready to be asked, and the one that is talked with.
    pub(crate) fn connected(
        &self,
        profile: Profile,
        talking: Option<&ModelClient>,
    ) -> Result<Profile, CliError> {
        let (transport, var) = (self.transport(), |name: &str| self.var(name));
        profile.connected_with(talking, transport, var).map_err(CliError::usage)
    }

    /// Writes down what was said so far, where that is wanted.
    pub(crate) fn save(&self) -> Result<(), CliError> {
        match self {
            Self::Recorded(recorder, path) => files::write(path, recorder.cassette().as_bytes()),
            Self::Live(_) | Self::Played(_) => Ok(()),
        }
    }

    /// The same where nothing more will be said; a cassette that goes on is told of unless quiet.
    pub(crate) fn end(&self, quiet: bool) -> Result<(), CliError> {
        if let Self::Played(player) = self
            && player.left() > 0
            && !quiet
        {
            let left = counted(player.left() as u64, "request");
            warn(&format!("less is asked than was recorded: the cassette holds {left} more"));
        }
        self.save()
    }
}
