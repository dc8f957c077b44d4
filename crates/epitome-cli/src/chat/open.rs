//! From flags to a conversation that can begin.
//!
//! Invariant: whatever is wrong is said before anything is recorded, but for a model that is reached
//! and does not answer. Called by the verb.

use std::env;
use std::path::Path;
use std::sync::{Arc, Mutex};

use epitome::types::Actor;
use epitome::{
    ChatSession, Compressor, Config, FallbackStore, Profile, ScopeOwner, SessionControls,
    WorkspaceFolder,
};
use tokio::runtime::Handle;

use super::acts::addressee;
use super::failure::{ChatFailure, fault_of};
use super::view::ChatView;
use super::{Args, Chat};
use crate::cassette::ModelTransport;
use crate::fault::CliError;
use crate::journal::{owner_of, store_path};
use crate::outputs::{FileFate, apart};
use crate::text::counted;
use crate::{files, settings, shell, store, stores};

/// The largest system prompt that is read, in bytes.
const MOST: u64 = 1 << 20;

impl Chat {
    /// Meets the model, and takes the session up.
    pub(super) async fn open(args: &Args, terminal: bool) -> Result<Self, CliError> {
        let config = args.config()?;
        let path = store_path(args.store.as_deref(), &config)?;
        let [record, cassette] = args.tape.files();
        apart(&[
            ("the store", Some(&path), FileFate::Store),
            record,
            cassette,
            args.profile.file(),
        ])?;
        let tape = ModelTransport::new(&args.tape)?;
        let client = tape.client(args.spec.clone())?;
        let system = args.system.as_deref().map(system).transpose()?;
        let profile =
            settings::permitted(config.profile_in_use()?)?.with_prices(settings::prices(&config)?);
        let profile = tape.connected(profile, Some(&client))?;
        settings::tell_of_mode(&profile, profile.mode());
        let store = store::open_live(&path, config.durability()).map_err(CliError::of_output)?;
        let folder = args.workspace.clone().or_else(|| env::current_dir().ok());
        let augments = config.augments(folder.as_deref());
        let mut builder = Compressor::builder().profile(profile.clone()).watch();
        builder = builder.input_format(args.spec.api.format()).augments(augments.clone());
        if tape.is_live() {
            builder = builder.background(Handle::current());
        }
        if let Some(folder) = &args.workspace {
            builder = builder.workspace(WorkspaceFolder::new(folder));
        }
        let owner = owner(&config, &store, &profile, args)?;
        builder = builder.owner(owner.clone());
        let levers = SessionControls::new(store.clone(), profile, owner, Actor::User)
            .with_augments(augments);
        let known = args.session.as_ref().and_then(|name| levers.session(Some(name)).ok());
        let session = builder.session(store.clone(), args.session.as_deref());
        let mut talk = ChatSession::new(session, client);
        if let Err(failure) = talk.probe_window().await {
            return Err(ChatFailure::of_model(failure, talk.client()).await.fault);
        }
        talk.begin(system.as_deref()).map_err(fault_of)?;
        args.mode.iter().for_each(|mode| talk.session().set_mode(mode));
        stores::remember_configured(&config);
        let mut view = ChatView::new(terminal, args.quiet, args.verbose);
        let profile = levers.keeper().profile();
        view.hide(profile.rules.markers.words());
        let name = profile.name();
        view.aside(&format!("{}; profile {name}", addressee(&talk)));
        if let Some(other) = known.is_none().then(|| recorder(&levers, args)).flatten() {
            view.aside(&format!(
                "a session begins here: the one of this name that the profile `{other}` recorded is \
                 another, and `--profile {other}` goes on with it"
            ));
        }
        if let Some(known) = &known {
            let said = counted(known.figures.messages.into(), "message");
            let own = if system.is_some() { ", and its own system prompt" } else { "" };
            view.aside(&format!("session {} goes on, with {said}{own}", known.name));
            let masked = levers.keeper().status(Some(&known.name)).ok().and_then(|it| it.masked);
            if let Some(masked) = masked.filter(|masked| *masked > 0) {
                let texts = counted(masked, "text");
                view.aside(&format!(
                    "{texts} of it, recorded as [redacted] since they look like keys, go to the model \
                     so: say them again where it needs them"
                ));
            }
        }
        if terminal {
            view.aside("/help lists commands; Ctrl-C ends an answer, Ctrl-D the conversation");
        }
        let flag = shell::store_flag(args.store.as_deref());
        Ok(Self {
            talk,
            levers,
            store,
            tape,
            view: Mutex::new(view),
            prompt: None,
            pauses: false,
            flag,
        })
    }
}

/// Another profile that has a session of the name that was given.
fn recorder(levers: &SessionControls, args: &Args) -> Option<String> {
    let name = args.session.as_deref();
    let there = levers.keeper().clone().of_session(Some(name?)).ok()?;
    there.session(name).ok()?;
    Some(there.recorder().to_owned())
}

/// Whose session it is: the current project's, but for one of an older store.
fn owner(
    config: &Config,
    store: &Arc<FallbackStore>,
    profile: &Profile,
    args: &Args,
) -> Result<ScopeOwner, CliError> {
    let owner = match &args.workspace {
        Some(folder) => config.owner(Some(folder)),
        None => settings::owner(config),
    };
    owner_of(args.session.as_deref(), owner, store.clone(), profile)
}

/// A system prompt: what a file says, or a text of several words.
fn system(given: &str) -> Result<String, CliError> {
    if given.trim().contains(char::is_whitespace) && !Path::new(given).is_file() {
        return Ok(given.to_owned());
    }
    let text = String::from_utf8(files::read(Some(Path::new(given)), MOST)?);
    let text = text.map_err(|_| CliError::unreadable(format!("{given}: is no text in UTF-8")))?;
    Ok(text.trim_end().to_owned())
}
