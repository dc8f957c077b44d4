//! Checks of how large a prompt may be: what is stated or guessed, what the servers of the models that
//! are configured tell, and what refusals and answers taught.
//!
//! Invariant: a server is asked about itself and sent no conversation, and only where the user named
//! it; nothing that was learned is changed.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use epitome::model::{
    ClientTimeouts, HttpTransport, ModelClient, ModelEndpoint, ModelSpec, ProbedWindow,
};
use epitome::{
    Format, LimitSource, ModelKnowledge, SilentTruncation, SummarizerSpec, WindowSetting,
};

use super::{DoctorFinding, Patient};
use crate::journal::{lessons, said};
use crate::text::grouped;

const ABOUT: &str = "window";

/// How long a server may take to tell about itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the profile states, or what is assumed where it does not.
pub(super) fn stated(patient: &Patient) -> Vec<DoctorFinding> {
    let Ok(profile) = patient.config.profile_in_use() else { return Vec::new() };
    let known = |format| profile.window().known(&profile, format, None);
    let stated = known(Format::OpenAi);
    if stated.source.is_stated() {
        let size = match profile.window() {
            WindowSetting::Size(size) => format!("of a size of {} ", grouped(size)),
            _ => String::new(),
        };
        let limit = grouped(stated.limit);
        return vec![DoctorFinding::ok(ABOUT, format!("{limit} tokens {size}{}", stated.source))];
    }
    let formats = [Format::Anthropic, Format::OpenAi, Format::Ollama];
    let all = formats.map(|format| format!("{} for {format}", grouped(known(format).limit)));
    let found = format!("{} tokens, {}", all.join(", "), stated.source);
    let how = "; `--prompt-limit`, `--context-size` or `--window-of` state it";
    vec![DoctorFinding::ok(ABOUT, found + " where the model table knows none" + how)]
}

/// What the servers tell whose models the profile names.
pub(super) fn told(patient: &Patient) -> Vec<DoctorFinding> {
    let Ok(profile) = patient.config.profile_in_use() else { return Vec::new() };
    let specs = profile.summarizers().iter().filter_map(|scribe| match scribe {
        SummarizerSpec::Model(spec) => Some(spec.clone()),
        SummarizerSpec::Extractive | SummarizerSpec::Talking => None,
    });
    specs.map(told_of).collect()
}

fn told_of(spec: ModelSpec) -> DoctorFinding {
    let name = spec.to_string();
    match probed(spec) {
        Ok(ProbedWindow { window: Some(window), .. }) => {
            let window = grouped(window);
            DoctorFinding::ok(ABOUT, format!("{name}: {window} tokens, told by the server"))
        }
        Ok(ProbedWindow { trained: Some(trained), .. }) => {
            let trained = grouped(trained);
            let found = format!("{name}: trained for {trained} tokens; what its server makes room");
            DoctorFinding::ok(ABOUT, found + " for it does not tell, `--context-size` tells it")
        }
        Ok(_) => DoctorFinding::ok(ABOUT, format!("{name}: its server does not tell")),
        Err(why) => {
            let remedy = "start the server, or correct `summarizers` in your epitome.toml";
            DoctorFinding::warn(ABOUT, format!("{name}: {why}"), remedy)
        }
    }
}

fn probed(spec: ModelSpec) -> Result<ProbedWindow, String> {
    let endpoint =
        ModelEndpoint::of(spec, |name| env::var(name).ok()).map_err(|it| it.to_string())?;
    let transport = Arc::new(HttpTransport::new().map_err(|error| error.to_string())?);
    let terms = ClientTimeouts { answer: PATIENCE, silence: PATIENCE, retries: 0 };
    let client = ModelClient::new(endpoint, transport).terms(terms);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(client.probe()).map_err(|failure| failure.to_string())
}

/// What refusals and answers taught.
pub(super) fn learned(patient: &Patient) -> Vec<DoctorFinding> {
    let Ok(profile) = patient.config.profile_in_use() else { return Vec::new() };
    lessons(&patient.path, &profile, &patient.config).iter().filter_map(learned_of).collect()
}

fn learned_of(taught: &ModelKnowledge) -> Option<DoctorFinding> {
    let model = taught.model.as_deref().unwrap_or("the model");
    let name = format!("{model} ({})", taught.format);
    if let Some(SilentTruncation { sent, evaluated }) = taught.shortened {
        let [sent, evaluated] = [sent, evaluated].map(grouped);
        let found = format!("{name}: its server read {evaluated} of {sent} tokens of a prompt");
        return Some(DoctorFinding::warn(ABOUT, found, SilentTruncation::REMEDY));
    }
    let limit = said(taught).map(|(limit, source)| match source {
        LimitSource::Learned => {
            format!("{} tokens, {source}; `--prompt-limit` states another", grouped(limit))
        }
        _ => format!("{} tokens, {source}", grouped(limit)),
    });
    let counted = taught.counted.map(|counted| {
        let (factor, band) = (counted.factor, (counted.band * 100.0).ceil());
        format!("counts {factor:.2} tokens for 1 of ours, ±{band:.0} %")
    });
    let found: Vec<_> = limit.into_iter().chain(counted).collect();
    (!found.is_empty()).then(|| DoctorFinding::ok(ABOUT, format!("{name}: {}", found.join("; "))))
}
