//! Which arm of an experiment a conversation belongs to, as the store has it.
//!
//! Invariant: a conversation that goes on never changes its profile. One that began before its
//! experiment did is recorded to take no part; one that was drawn keeps its arm for as long as the
//! table of the experiment is there. Whatever fails, the request goes on as it would without experiments.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use epitome::{
    ExperimentBook, ExperimentConfig, ExperimentUnit, PaidArm, Profile, RoutedRequest, ScopeOwner,
    SessionArchive, SessionRouter, StopRecord, StoreError, UnitRecord, collect_units,
    experiment_unit, system_time, tripped_guardrails,
};
use epitome_experiments::block_arm;
use epitome_proxy::{ArmChooser, ArmRequest, ChosenArm};

/// So many conversations are remembered; of others the store is asked again.
const MOST: usize = 4_096;

/// Guardrails are looked at before each of so many draws.
const GUARDED: u64 = 8;

/// The experiments of a proxy.
pub(super) struct ExperimentArms {
    pub(super) store: Arc<dyn SessionArchive>,
    pub(super) owner: ScopeOwner,
    /// The conversations of the usual profile.
    pub(super) usual: Arc<SessionRouter>,
    /// Each arm, which has no unit here.
    pub(super) arms: BTreeMap<PaidArm, ServedArm>,
    pub(super) experiments: BTreeMap<String, ExperimentConfig>,
    pub(super) met: Mutex<MetUnits>,
}

/// An arm.
pub(super) struct ServedArm {
    /// Its conversations.
    pub(super) hub: Arc<SessionRouter>,
    pub(super) profile: Profile,
}

/// What was said of conversations, and how many were drawn.
#[derive(Default)]
pub(super) struct MetUnits {
    /// By the hash of the conversation in its experiment; none for one that takes no part.
    arms: HashMap<String, Option<PaidArm>>,
    drawn: u64,
}

/// A conversation in an experiment.
struct Candidate<'r> {
    name: &'r str,
    experiment: &'r ExperimentConfig,
    /// What tells the conversation from others.
    session: String,
    /// The same as it was before the proxy served a project, where it serves one.
    unplaced: Option<String>,
    /// What gets one arm as a whole.
    unit: String,
    /// Whether it may be drawn. One that was drawn keeps its arm whatever is asked of new ones.
    may_begin: bool,
}

impl ArmChooser for ExperimentArms {
    fn arm_of(&self, request: &ArmRequest<'_>) -> Option<ChosenArm> {
        let paid = self.arm(request).unwrap_or_else(|error| {
            tracing::warn!(%error, "no arm of an experiment can be found");
            None
        })?;
        let of_arm = PaidArm { unit: String::new(), ..paid.clone() };
        let hub = Arc::clone(&self.arms.get(&of_arm)?.hub);
        let holds_out = paid.arm == ExperimentConfig::HOLD_OUT;
        Some(ChosenArm { paid, hub, holds_out })
    }
}

impl ExperimentArms {
    /// The conversation of a request, where that can be told from others.
    fn candidate<'r>(
        &'r self,
        name: &'r str,
        experiment: &'r ExperimentConfig,
        request: &ArmRequest<'_>,
    ) -> Option<Candidate<'r>> {
        let ArmRequest { ask, .. } = *request;
        let client = ask.client.as_ref();
        let is_asked = |it: &String| client.is_some_and(|client| it.eq_ignore_ascii_case(client));
        let is_meant = experiment.clients.is_empty() || experiment.clients.iter().any(is_asked);
        let project = self.owner.project();
        let words = match &ask.label {
            Some(label) => ["session", label.as_str()].map(str::to_owned),
            None => {
                let opening = self.usual.opening(ask).ok()?.first?;
                ["opening".to_owned(), format!("{opening:?}")]
            }
        };
        let [kind, known] = words.each_ref().map(String::as_str);
        // What begins alike in another project is another conversation.
        let of = |project: &str| experiment_unit(name, &[&*ask.tenant, project, kind, known]);
        let session = of(project.unwrap_or_default());
        let unplaced = project.filter(|_| kind == "session").map(|_| of(""));
        let of_project = |project| experiment_unit(name, &[&ask.tenant, "project", project]);
        let unit = match experiment.unit {
            ExperimentUnit::Session => Some(session.clone()),
            ExperimentUnit::Project => project.map(of_project),
        };
        let may_begin = is_meant && unit.is_some();
        let unit = unit.unwrap_or_else(|| session.clone());
        Some(Candidate { name, experiment, session, unplaced, unit, may_begin })
    }

    /// The arm of a conversation: the one that it has in any experiment, else one that is drawn in the
    /// first that it may take part in.
    fn arm(&self, request: &ArmRequest<'_>) -> Result<Option<PaidArm>, StoreError> {
        let book = ExperimentBook::new(&*self.store, &request.ask.tenant);
        let mut unmet = Vec::new();
        for (name, experiment) in &self.experiments {
            let Some(candidate) = self.candidate(name, experiment, request) else { continue };
            match self.known(&book, &candidate)? {
                Some(Some(arm)) => return Ok(Some(arm)),
                Some(None) => {}
                None => unmet.push(candidate),
            }
        }
        for candidate in unmet.iter().filter(|it| request.begins && it.may_begin) {
            if let Some(arm) = self.begun(&book, candidate, request)? {
                return Ok(Some(arm));
            }
        }
        Ok(None)
    }

    /// What was said of a conversation before, by this process or another.
    fn known(
        &self,
        book: &ExperimentBook<'_>,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Option<PaidArm>>, StoreError> {
        if let Some(arm) = self.met(|units| units.arms.get(&candidate.session).cloned()) {
            return Ok(Some(arm));
        }
        let mut record = book.session(candidate.name, &candidate.session)?;
        if let (None, Some(unplaced)) = (&record, &candidate.unplaced) {
            record = book.session(candidate.name, unplaced)?.filter(|it| it.arm.is_some());
            if let Some(record) = &mut record {
                record.unit.get_or_insert_with(|| unplaced.clone());
            }
        }
        Ok(record.map(|record| self.remembered(candidate, record)))
    }

    /// The arm of a conversation that nothing is recorded of.
    fn begun(
        &self,
        book: &ExperimentBook<'_>,
        candidate: &Candidate<'_>,
        request: &ArmRequest<'_>,
    ) -> Result<Option<PaidArm>, StoreError> {
        let Candidate { name, session, .. } = candidate;
        let record = if self.goes_on(request.ask) {
            let inherited = self.inherited(book, candidate, request)?;
            book.enter_session(name, session, &inherited.unwrap_or_default())?
        } else if book.stops(name)?.contains_key("") {
            UnitRecord::default()
        } else {
            let drawn = self.drawn(book, candidate, request)?;
            book.enter_session(name, session, &drawn)?
        };
        Ok(self.remembered(candidate, record))
    }

    /// Remembers what is recorded of a conversation.
    fn remembered(&self, candidate: &Candidate<'_>, record: UnitRecord) -> Option<PaidArm> {
        let unit = record.unit.unwrap_or_else(|| candidate.unit.clone());
        let experiment = candidate.name.to_owned();
        let arm = record.arm.map(|arm| PaidArm { experiment, arm, unit });
        self.met(|units| {
            if units.arms.len() >= MOST {
                units.arms.clear();
            }
            units.arms.insert(candidate.session.clone(), arm.clone());
        });
        arm
    }

    /// What is recorded of the conversation that one goes on from under another id.
    fn inherited(
        &self,
        book: &ExperimentBook<'_>,
        candidate: &Candidate<'_>,
        request: &ArmRequest<'_>,
    ) -> Result<Option<UnitRecord>, StoreError> {
        for (of_arm, it) in self.arms.iter().filter(|(it, _)| it.experiment == candidate.name) {
            let origin = it.hub.origin(request.ask).unwrap_or_else(|error| {
                tracing::warn!(%error, "it is not known what a conversation goes on from");
                None
            });
            let Some(label) = origin else { continue };
            let ask = RoutedRequest { label: Some(label), ..request.ask.clone() };
            let before = ArmRequest { ask: &ask, ..*request };
            let Some(before) = self.candidate(candidate.name, candidate.experiment, &before) else {
                continue;
            };
            let known = self.known(book, &before)?.flatten();
            if let Some(known) = known.filter(|known| known.arm == of_arm.arm) {
                let unit = (known.unit != candidate.unit).then_some(known.unit);
                return Ok(Some(UnitRecord {
                    arm: Some(known.arm),
                    unit,
                    ..UnitRecord::default()
                }));
            }
        }
        Ok(None)
    }

    /// What is recorded of the unit of a new conversation.
    fn drawn(
        &self,
        book: &ExperimentBook<'_>,
        candidate: &Candidate<'_>,
        request: &ArmRequest<'_>,
    ) -> Result<UnitRecord, StoreError> {
        let Candidate { name, experiment, unit, .. } = candidate;
        self.guard(book, candidate, &request.ask.tenant)?;
        let stops = book.stops(name)?;
        if let Some(known) = book.unit(name, unit)? {
            // A project may have new sessions when its arm gets none any more.
            let is_open = known.arm.as_ref().is_some_and(|arm| !stops.contains_key(arm));
            return Ok(if is_open { known } else { UnitRecord::default() });
        }
        let open = |arm: &str, weight| if stops.contains_key(arm) { 0 } else { weight };
        let odds: Vec<_> =
            experiment.weighted().map(|(arm, weight)| (arm, open(arm, weight))).collect();
        let weights: Vec<_> = odds.iter().map(|(_, weight)| *weight).collect();
        // An arm that is alone has nothing to be compared with, and may be the one that saves nothing.
        if weights.iter().filter(|weight| **weight > 0).count() < 2 {
            return Ok(UnitRecord::default());
        }
        // Each kind of unit is divided by itself. Other weights are another row.
        let client = request.ask.client.as_deref().unwrap_or_default();
        let family = model_family(&request.ask.bytes);
        let project = match experiment.unit {
            ExperimentUnit::Session => self.owner.project().unwrap_or_default(),
            ExperimentUnit::Project => "",
        };
        let row = experiment_unit(name, &[client, &family, project, &format!("{odds:?}")]);
        book.keep_table(name, experiment)?;
        let place = book.take_place(name, &row, unit)?;
        let Some(arm) = block_arm(&row, place, &weights) else {
            return Ok(UnitRecord::default());
        };
        let drawn = odds[arm].0;
        let record = UnitRecord {
            arm: Some(drawn.to_owned()),
            profile: self.version(name, drawn),
            at: system_time(),
            odds: odds.iter().map(|(arm, weight)| ((*arm).to_owned(), *weight)).collect(),
            client: request.ask.client.clone(),
            project: self.owner.project().map(str::to_owned),
            unit: None,
        };
        let record = book.enter(name, unit, &record)?;
        if let Some(arm) = &record.arm {
            tracing::info!(experiment = name, arm, "a unit was drawn");
        }
        Ok(record)
    }

    /// What the profile of an arm is at present.
    fn version(&self, experiment: &str, arm: &str) -> Option<String> {
        let [experiment, arm] = [experiment, arm].map(str::to_owned);
        let arm = PaidArm { experiment, arm, unit: String::new() };
        self.arms.get(&arm).map(|it| it.profile.config())
    }

    /// Stops the arms that broke a guardrail.
    fn guard(
        &self,
        book: &ExperimentBook<'_>,
        candidate: &Candidate<'_>,
        tenant: &str,
    ) -> Result<(), StoreError> {
        let Candidate { name, experiment, .. } = candidate;
        let number = self.met(|units| {
            units.drawn += 1;
            units.drawn
        });
        if experiment.guardrails.set().next().is_none() || number % GUARDED != 1 {
            return Ok(());
        }
        let units = collect_units(&*self.store, tenant, name)?;
        let known = book.stops(name)?;
        for tripped in tripped_guardrails(experiment, &units) {
            if !known.contains_key(&tripped.arm) {
                let why = tripped.why();
                tracing::warn!(experiment = name, arm = tripped.arm, "an arm is stopped: {why}");
                book.stop(name, Some(&tripped.arm), &StopRecord { at: system_time(), why })?;
            }
        }
        Ok(())
    }

    /// Whether a conversation went on before, or one that its client gives the same name.
    fn goes_on(&self, ask: &RoutedRequest) -> bool {
        let is_new = self.usual.opening(ask).is_ok_and(|opening| opening.is_new);
        !is_new || self.usual.has_recorded(ask).unwrap_or(true)
    }

    /// Does something with what was said of conversations.
    fn met<T>(&self, work: impl FnOnce(&mut MetUnits) -> T) -> T {
        work(&mut self.met.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The kind of model that a request is for, whatever its version: `claude sonnet`. Empty where none is
/// named.
fn model_family(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct NamedModel {
        #[serde(default)]
        model: String,
    }
    let Ok(NamedModel { model }) = serde_json::from_slice(body) else { return String::new() };
    let words = model.split(|c: char| !c.is_alphanumeric()).map(|word| {
        let end = word.find(|c: char| c.is_numeric()).unwrap_or(word.len());
        word[..end].to_lowercase()
    });
    words.filter(|word| word.len() > 1 && word != "latest").collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_model_are_one_family() {
        let check = |model: &str, family: &str| {
            let body = serde_json::json!({"messages": [], "model": model}).to_string();
            assert_eq!(model_family(body.as_bytes()), family, "{model}");
        };
        for model in ["claude-sonnet-4-5-20250929", "claude-sonnet-5", "claude-3-7-sonnet-latest"] {
            check(model, "claude sonnet");
        }
        check("gpt-5.6-sol", "gpt sol");
        check("llama3.2:3b", "llama");
        assert_eq!(model_family(b"{}"), "");
        assert_eq!(model_family(b"nothing"), "");
    }
}
