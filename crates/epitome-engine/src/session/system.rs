//! The system prompt of a conversation that is pushed, put together of parts as a policy says
//! (RULES 33).
//!
//! Invariant: it is made once for each epoch and recorded, so that between epochs, and in another
//! process, it is the same byte for byte (RULES 10). It is no part of the history, and what the
//! host says in a system prompt of its own stands in it whole. Called by the turn; where a host
//! sends whole requests, as behind the proxy, nobody calls it.

use std::collections::BTreeMap;
use std::ops::Not;

use epitome_kernel::{TokenCounter, goals};
use epitome_types::hook::{
    Common, Loaded, Makings, ModelFacts, RenderJob, Section, TalkFacts, Wording,
};
use epitome_types::{Actor, ContentId, EventKind};
use epitome_wire::system;
use serde_json::Value;

use super::Session;
use super::assembled::{Assembled, NewSystemPrompt, OwnSystemPrompt};
use super::events::TurnEvents;
use super::notes::HostNotes;
use super::proposal::PolicyContext;
use super::state::ConversationState;
use super::turn_context::TurnContext;
use crate::error::Error;
use crate::source::RequestSource;
use epitome_config::profile::Back;

/// What the part is called that no policy put in its place.
const INSTRUCTIONS: &str = "instructions";

impl Session {
    /// Finds the host's own system prompt, and what was put together for the epoch in force.
    pub(super) fn meet_system(
        &self,
        ground: &mut TurnContext<'_, '_>,
        state: &ConversationState,
        erased: bool,
    ) -> Result<(), Error> {
        let source = ground.source;
        let own = system(source.body, source.format, &source.scan)?;
        let (epoch, of) = (ground.standing.epoch, hash(own.as_deref()));
        let mut known = state.acts.iter().flat_map(|acts| &acts.systems).rev();
        let assembled = known.find(|one| one.epoch == epoch && one.of == of).cloned();
        let mandate = OwnSystemPrompt { own, assembled, erased };
        let counter = ground.tail.tokens.gauge().counter;
        let growth = mandate.assembled.as_ref().map(|it| mandate.growth(it, counter));
        (ground.lead.mandate, ground.lead.assembled) = (Some(mandate), growth.unwrap_or_default());
        Ok(())
    }

    /// Whether one is to be put together though nothing is compressed: before the first request,
    /// and where what was recorded belongs to another epoch or to other words of the host, or may
    /// have been erased.
    pub(super) fn lacks_system(
        &self,
        ground: &TurnContext<'_, '_>,
        state: &ConversationState,
    ) -> bool {
        let is_known = state.acts.as_ref().is_some_and(|acts| !acts.systems.is_empty());
        let lacking = ground.lead.mandate.as_ref().filter(|it| it.assembled.is_none());
        lacking.is_some_and(|it| is_known || it.erased || ground.incoming.sent == 0)
    }

    /// One that is put together of what is true now, where the policies do so.
    pub(super) async fn assembled(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
    ) -> Option<NewSystemPrompt> {
        let own = ground.lead.mandate.as_ref()?.own.as_deref();
        let counter = ground.tail.tokens.gauge().counter;
        let acts = state.acts.clone().unwrap_or_default();
        let library = self.settings.augments.read();
        let augments = library.active(&acts.augments).augments.into_iter().map(|one| Loaded {
            name: one.augment.name.clone(),
            title: one.augment.title.clone(),
            text: one.augment.text.clone(),
        });
        let most = self.settings.profile.options.work_state.goals;
        let makings = Makings {
            instructions: own.map(str::to_owned),
            goal: goals::render(&acts.goals, most, counter, &goals::GoalWording::ENGLISH),
            augments: augments.collect(),
            tools: tools(ground.source),
        };
        let council = &brief.council;
        let mut job = self.asked_for_parts(brief.common.clone(), makings);
        let decision = council.ask(&mut job).await;
        let (policy, rendered) = (decision.policy(), decision.value?);
        let parts = whole(rendered.parts?, own);
        let warning = brief.budgets.system.and_then(|most| beyond(&parts, most, counter));
        let policy_warning =
            |text| EventKind::PolicyWarning { policy: policy.clone(), text, level: None };
        let warning = warning.map(policy_warning);
        let around = around(&parts, own).map(|text| self.redaction().text(&text).into_owned());
        let (epoch, of, by) = (ground.standing.epoch, hash(own), Actor::Policy(policy));
        Some((Assembled { epoch, of, around, by }, warning))
    }

    /// The one that a compression moves into its place: of what is true now, or where nobody puts
    /// that together, the one in force.
    pub(super) async fn drafted(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
    ) -> Option<NewSystemPrompt> {
        let mandate = ground.lead.mandate.as_ref()?;
        let made = self.assembled(ground, brief, state).await;
        made.or_else(|| Some((mandate.assembled.clone()?, None)))
    }

    /// Puts one in its place, for the epoch in force, and has it recorded.
    pub(super) fn put_in_place(
        &self,
        ground: &mut TurnContext<'_, '_>,
        made: NewSystemPrompt,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) {
        let (made, warning) = made;
        let made = Assembled { epoch: ground.standing.epoch, ..made };
        let Some(mandate) = &mut ground.lead.mandate else { return };
        ground.lead.assembled = mandate.growth(&made, ground.tail.tokens.gauge().counter);
        mandate.assembled = Some(made.clone());
        state.work.doing.push((made.act(), made.by.clone()));
        if let Some(acts) = &mut state.acts {
            acts.systems.push(made);
        }
        let [_, size] = ground.size();
        warning.into_iter().for_each(|warning| events.add([size; 2], warning));
    }

    /// Takes what the first prompt says in its system prompt for told, where the policies put one
    /// together. Says whether they do.
    pub(super) async fn opens_with_system(&mut self) -> Result<bool, Error> {
        let pushed = self.opened()?;
        let (is_unsent, messages, model) = (pushed.is_unsent(), pushed.len(), pushed.model.clone());
        let Some(name) = self.record.name.clone().filter(|_| is_unsent) else { return Ok(false) };
        let counter = self.counter_for(model.as_deref());
        let council = self.settings.council(&counter, BTreeMap::new())?;
        let now = self.now();
        let common = Common {
            session: name.clone(),
            mode: self.mode().map(str::to_owned),
            model: ModelFacts { name: model, ..ModelFacts::default() },
            now: now.clone(),
            messages: messages as u32,
            talk: TalkFacts { workspace: self.back() == Back::File, ..TalkFacts::default() },
            ..Common::default()
        };
        let mut job = self.asked_for_parts(common, Makings::default());
        let rendered = council.ask(&mut job).await.value;
        let is_one = rendered.is_some_and(|rendered| rendered.parts.is_some());
        if is_one {
            let (journal, scope) = (&*self.record.journal, &*self.record.scope);
            self.notes = HostNotes::until(&now, &name, journal, scope, &self.settings)?;
        }
        Ok(is_one)
    }

    fn asked_for_parts(&self, common: Common, makings: Makings) -> RenderJob {
        let (in_store, in_files) = (self.back() != Back::None, self.back() == Back::File);
        let (part, system) = (Wording::System, Some(makings));
        RenderJob { common, part, system, time: None, in_store, in_files }
    }
}

fn hash(own: Option<&str>) -> ContentId {
    ContentId::for_text(own.unwrap_or_default())
}

/// The parts that say something, and behind them the host's own words where none says them.
fn whole(parts: Vec<Section>, own: Option<&str>) -> Vec<Section> {
    let mut parts: Vec<_> =
        parts.into_iter().filter(|part| part.text.trim().is_empty().not()).collect();
    if let Some(own) = own.filter(|own| !parts.iter().any(|part| part.text.contains(own))) {
        parts.push(Section { name: INSTRUCTIONS.to_owned(), text: own.to_owned() });
    }
    parts
}

/// What stands before and behind the host's own words.
fn around(parts: &[Section], own: Option<&str>) -> [String; 2] {
    let texts: Vec<_> = parts.iter().map(|part| part.text.trim_matches('\n')).collect();
    let all = texts.join("\n\n");
    let (before, behind) = match own.map(|own| own.trim_matches('\n')) {
        // They stand last where they stand more than once.
        Some(own) if !own.is_empty() => all.rsplit_once(own).unwrap_or((&all, "")),
        _ => (&*all, ""),
    };
    [before.to_owned(), behind.to_owned()]
}

/// Which part is the first beyond what a system prompt may take, in words.
fn beyond(parts: &[Section], most: u64, counter: &dyn TokenCounter) -> Option<String> {
    let sizes: Vec<_> = parts.iter().map(|part| counter.count(&part.text)).collect();
    let total: u64 = sizes.iter().sum();
    let mut taken = 0;
    let at = sizes.iter().position(|size| {
        taken += size;
        taken > most
    })?;
    let (name, size) = (&parts[at].name, sizes[at]);
    Some(format!(
        "the system prompt takes {total} tokens of {most}; the part `{name}`, which takes {size}, \
         is the first beyond that: shorten it, or use a larger window"
    ))
}

/// The names of the tools that a request offers.
fn tools(source: &RequestSource<'_>) -> Vec<String> {
    let schemas = source.scan.tool_schemas(source.body).into_iter();
    let read = schemas.filter_map(|schema| serde_json::from_str::<Value>(schema).ok());
    let name = |schema: Value| {
        let name = schema.get("name").or_else(|| schema.get("function")?.get("name"))?;
        name.as_str().map(str::to_owned)
    };
    read.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use epitome_testkit::FixedCounter;
    use epitome_types::RecordedAction;

    use super::*;

    fn parts(texts: &[(&str, &str)]) -> Vec<Section> {
        let part = |(name, text): &(&str, &str)| Section {
            name: (*name).to_owned(),
            text: (*text).to_owned(),
        };
        texts.iter().map(part).collect()
    }

    #[track_caller]
    fn check(texts: &[(&str, &str)], own: Option<&str>, expected: &str) {
        let around = around(&whole(parts(texts), own), own);
        let by = Actor::Policy("staged".to_owned());
        let assembled = Assembled { epoch: None, of: hash(own), around, by: by.clone() };
        assert_eq!(assembled.text(own), expected);
        let acted = RecordedAction { act: assembled.act(), by, at: String::new() };
        assert_eq!(Assembled::done(&acted), Some(assembled));
    }

    #[test]
    fn parts_stand_in_their_order_and_the_hosts_words_among_them() {
        check(
            &[("core", "Help."), ("goal", "\n"), ("tools", "Use them.\n")],
            None,
            "Help.\n\nUse them.",
        );
        check(&[("core", "Help."), ("team", "Be brief.")], Some("Be brief."), "Help.\n\nBe brief.");
        check(
            &[("team", "As told: Be brief."), ("x", "End.")],
            Some("Be brief."),
            "As told: Be brief.\n\nEnd.",
        );
        // What no part says of them is put behind.
        check(&[("core", "Help.")], Some("Be brief."), "Help.\n\nBe brief.");
        check(&[], Some("Be brief."), "Be brief.");
    }

    #[test]
    fn the_first_part_beyond_the_bound_is_named() {
        let parts = parts(&[("core", "one two"), ("goal", "three four five"), ("tools", "six")]);
        let beyond = |most| beyond(&parts, most, &FixedCounter::Words);
        assert_eq!(beyond(6), None);
        let told = beyond(5).unwrap();
        assert!(
            told.starts_with(
                "the system prompt takes 6 tokens of 5; the part `tools`, which takes 1,"
            ),
            "{told}"
        );
        assert!(beyond(4).unwrap().contains("`goal`, which takes 3,"));
    }
}
