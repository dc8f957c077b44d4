//! New messages, as the policies look at them: what is pinned, warned of, brought back, and said of
//! goals (RULES 51, 56).
//!
//! Invariant: each message is shown once, when it is new, before a compression is planned: what is
//! pinned of it is in none. What else comes of it is recorded behind the messages, and changes the
//! prompt with the next request at the earliest. Called by the turn.

use epitome_types::hook::{Action, Arriving, Found, GoalsJob, Observe, ObserveJob, Stop};
use epitome_types::{
    Actor, Entry, EntryId, EntryKey, EventKind, PartBody, SessionAction, Speaker, ToolCall,
};

use epitome_kernel::goals::bound_lock;
use epitome_kernel::{HookJob, HookReply};
use epitome_plan::{line_count, speaker};

use super::Session;
use super::action_state::Doing;
use super::actions::{GOALS, Saying};
use super::events::TurnEvents;
use super::proposal::PolicyContext;
use super::recall::{RecallContext, RecallWish};
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use crate::background::{BackgroundWorker, PolicyQuestion};
use crate::error::Error;
use crate::facts::intent;
use crate::plan_notes::WantedPin;
use crate::policy_runner::{ASKS, Decision, TWICE};
use epitome_config::profile::BUILTIN;

/// The most that is taken of what a policy finds in one text: no text says more of goals that anybody
/// could keep in view.
const MOST_FOUND: usize = 100;

/// What a message is held against.
struct Aim {
    /// The goal that was in force when it was said.
    goal: Option<String>,
    /// What a person typed last before it.
    typed: Option<String>,
}

/// The request whose messages are looked at, and what it says to policies.
#[derive(Clone, Copy)]
pub(super) struct ObservedTurn<'a, 's, 't> {
    pub(super) ground: &'a TurnContext<'s, 't>,
    pub(super) brief: &'a PolicyContext,
}

/// A message that policies are asked about.
#[derive(Clone, Copy)]
struct AskedMessage {
    key: EntryKey,
    /// How often a model was asked about it before.
    asked: usize,
}

/// A message that policies were shown, and what they want about it.
pub(super) struct ShownMessage {
    entry: EntryId,
    tokens: u64,
    wanted: Decision<Observe>,
}

impl ShownMessage {
    /// That it is pinned, where that is wanted.
    fn pin(&self) -> Option<WantedPin> {
        self.wanted.value.as_ref().filter(|wanted| wanted.pin == Some(true))?;
        let (policy, hook) = (self.wanted.policy(), ObserveJob::HOOK);
        Some(WantedPin { entry: self.entry, tokens: self.tokens, policy, hook })
    }
}

impl Session {
    /// Shows the policies what is new, and grants what they want pinned. `whole` is the history as
    /// it is sent, where all of it was read; `goals` are those in force when each of the new messages
    /// was said.
    pub(super) async fn show_new(
        &self,
        observed: ObservedTurn<'_, '_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        goals: Vec<Option<String>>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Vec<ShownMessage>, Error> {
        let ground = observed.ground;
        let (looked_at, mut shown) = self.look_again(observed, state).await?;
        let new = ground.tail.from(ground.incoming.sent);
        let mut typed = ground.typed_before(ground.incoming.sent)?;
        for (entry, goal) in new.iter().zip(goals) {
            let aim = Aim { goal, typed: typed.clone() };
            shown.push(self.show(entry, aim, observed, state).await);
            typed = intent(entry).map(str::to_owned).or(typed);
        }
        self.keep_questions(looked_at, state);
        let pins = shown.iter().filter_map(ShownMessage::pin);
        self.grant_pins(observed, whole, pins, state, events);
        Ok(shown)
    }

    /// Does what policies want about the messages that they were shown, and records what is pinned.
    pub(super) async fn take_up(
        &self,
        observed: ObservedTurn<'_, '_, '_>,
        shown: Vec<ShownMessage>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        let ground = observed.ground;
        for message in shown {
            self.take_up_one(message, observed, state, events)?;
        }
        // A summary speaks of all that was said so far.
        let newest = ground.incoming.keys.last().copied();
        for text in std::mem::take(&mut state.work.written) {
            let said = newest.map(|key| SaidText { text, speaker: Speaker::Model, key });
            self.find_goals(said, observed, state, events).await;
        }
        self.record_pins(ground, state, events)
    }

    /// Takes up what new messages say of goals, before a compression takes them out: what is decided
    /// for good in one of them stays word for word in that very prompt (RULES 3). Gives the goal
    /// that was in force when each of them was said.
    pub(super) async fn hear_goals(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Vec<Option<String>> {
        let mut in_force = Vec::new();
        let observed = ObservedTurn { ground, brief };
        for entry in ground.tail.from(ground.incoming.sent) {
            in_force.push(state.goal());
            let speaker = speaker(entry);
            if matches!(speaker, Speaker::Human | Speaker::Model) {
                let key = ground.incoming.keys[ground.tail.place(entry.id).index()];
                let said = SaidText { text: spoken(entry), speaker, key };
                self.find_goals(Some(said), observed, state, events).await;
            }
        }
        in_force
    }

    /// Has the policies look once more at the messages that they asked a model about: with its
    /// answers, or anew where nobody is asked any longer, since the process ended that asked. Gives
    /// which those are, who asked, and what is wanted about them now.
    async fn look_again(
        &self,
        observed: ObservedTurn<'_, '_, '_>,
        state: &mut ConversationState,
    ) -> Result<(Vec<(EntryKey, Actor)>, Vec<ShownMessage>), Error> {
        let ObservedTurn { ground, brief } = observed;
        let place = |key: &EntryKey| ground.incoming.keys.iter().rposition(|known| known == key);
        let answered = std::mem::take(&mut state.work.answered);
        let mut known = self.asked_about();
        known.extend(answered.iter().map(|(question, _)| question.key));
        let (mut looked_at, mut shown) = (Vec::new(), Vec::new());
        for (question, why) in answered {
            looked_at.push((question.key, Actor::Policy(question.policy.clone())));
            let Some(place) = place(&question.key) else { continue };
            if let Some(why) = why {
                question.give_up(&brief.council, &why);
                continue;
            }
            let about = AskedMessage { key: question.key, asked: question.asked };
            let wanted = self.seen_at_once(about, &question.job(), brief, state);
            let (entry, tokens) = (EntryId(place as u32), question.job().entry.tokens);
            shown.push(ShownMessage { entry, tokens, wanted });
        }
        let open = state.acts.as_ref().map(|acts| acts.open.clone()).unwrap_or_default();
        for (key, by) in open.into_iter().filter(|(key, _)| !known.contains(key)) {
            let old = place(&key).filter(|place| *place < ground.incoming.sent);
            let Some(place) = old.filter(|place| *place >= ground.tail.first) else { continue };
            let aim = Aim { goal: state.goal(), typed: ground.typed_before(place)? };
            if let Some(entry) = ground.tail.from(place).first() {
                shown.push(self.show(entry, aim, observed, state).await);
            }
            looked_at.push((key, by));
        }
        Ok((looked_at, shown))
    }

    /// Shows the policies a message.
    async fn show(
        &self,
        entry: &Entry,
        Aim { goal, typed }: Aim,
        ObservedTurn { ground, brief }: ObservedTurn<'_, '_, '_>,
        state: &mut ConversationState,
    ) -> ShownMessage {
        let text = entry.readable();
        let mut job = ObserveJob {
            common: brief.common.clone(),
            entry: arriving(entry, &text, ground),
            actions: entry.calls().map(action).collect(),
            intent: goal.or_else(|| typed.clone()),
            typed,
            since_compaction: ground.since_epoch(),
            text: &text,
        };
        let place = ground.tail.place(entry.id);
        let tokens = job.entry.tokens;
        let wanted = match self.defers() {
            false => brief.council.ask(&mut job).await,
            true => {
                let about = AskedMessage { key: ground.incoming.keys[place.index()], asked: 0 };
                self.seen_at_once(about, &job, brief, state)
            }
        };
        ShownMessage { entry: place, tokens, wanted }
    }

    /// Keeps for a new process about which messages models are asked from now on, and about which of
    /// those that were looked at they no longer are.
    fn keep_questions(&self, looked_at: Vec<(EntryKey, Actor)>, state: &mut ConversationState) {
        let is_known = |key: &EntryKey| looked_at.iter().any(|(known, _)| known == key);
        let asked = self.asked_about();
        let is_open = |key: &EntryKey| {
            asked.contains(key) || state.work.asking.iter().any(|question| question.key == *key)
        };
        let begun = state.work.asking.iter().filter(|question| !is_known(&question.key));
        let begun = begun.map(|it| (it.key, true, Actor::Policy(it.policy.clone())));
        let ended = looked_at.iter().filter(|(key, _)| !is_open(key));
        let ended = ended.map(|(key, by)| (*key, false, by.clone()));
        let acts = begun
            .chain(ended)
            .map(|(entry, open, by)| (SessionAction::Question { entry, open }, by));
        let acts: Vec<_> = acts.collect();
        state.work.doing.extend(acts);
    }

    /// The messages that models are being asked about.
    fn asked_about(&self) -> Vec<EntryKey> {
        self.background.as_ref().map(BackgroundWorker::wonders_about).unwrap_or_default()
    }

    /// What the policies say of a message without being kept waiting: what they ask a model is put
    /// to it in the background, and they look at the message once more.
    fn seen_at_once(
        &self,
        about: AskedMessage,
        job: &ObserveJob<'_>,
        brief: &PolicyContext,
        state: &mut ConversationState,
    ) -> Decision<Observe> {
        let AskedMessage { key, asked } = about;
        let HookReply { result, by, .. } = brief.council.ask_at_once(job);
        match result {
            Ok(value) => Decision { value, by },
            Err(ask) => {
                let decision = Decision { value: None, by };
                let question = PolicyQuestion::new(decision.policy(), key, job, ask, asked + 1);
                match asked < ASKS {
                    true => state.work.asking.push(question),
                    false => question.give_up(&brief.council, TWICE),
                }
                decision
            }
        }
    }

    /// Does what a policy wants about a message, but for what is pinned.
    fn take_up_one(
        &self,
        ShownMessage { wanted, .. }: ShownMessage,
        ObservedTurn { ground, brief }: ObservedTurn<'_, '_, '_>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        let [_, size] = ground.size();
        let policy = wanted.policy();
        let Some(Observe { warn, level, drift, recall, max_tokens, report, pin: _ }) = wanted.value
        else {
            return Ok(());
        };
        state.work.reports |= report == Some(true);
        if let Some(text) = warn {
            let policy = policy.clone();
            events.add([size; 2], EventKind::PolicyWarning { policy, text, level });
        }
        if let Some(drift) = drift {
            let policy = policy.clone();
            events.add([size; 2], EventKind::DriftDetected { policy, drift, level });
        }
        let asks = |(act, _): &Doing| matches!(act, SessionAction::Ask { .. });
        if level == Some(Stop::Hard) && !state.work.doing.iter().any(asks) {
            state
                .work
                .doing
                .push((SessionAction::Ask { tool: policy.clone() }, Actor::Policy(policy.clone())));
        }
        if let Some(query) = recall {
            let counter = ground.tail.tokens.gauge().counter;
            let (wish, by) = (RecallWish { query, most: max_tokens }, Actor::Policy(policy));
            let about = RecallContext { name: ground.name, brief, counter };
            let told = self.recall(&wish, about, by, state)?;
            told.into_iter().for_each(|told| events.add([size; 2], told));
        }
        Ok(())
    }

    /// Takes up what a text says of goals.
    async fn find_goals(
        &self,
        said: Option<SaidText>,
        observed: ObservedTurn<'_, '_, '_>,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) {
        let Some(SaidText { text, speaker, key }) = said else { return };
        let ObservedTurn { ground, brief } = observed;
        let goals = state.acts.as_ref().map(|acts| acts.goals.clone()).unwrap_or_default();
        let (common, by) = (brief.common.clone(), speaker.into());
        let mut job = GoalsJob { common, speaker: by, text, goals };
        let decision = brief.council.ask(&mut job).await;
        let policy = decision.policy();
        let mut found = decision.value.unwrap_or_default();
        self.bound_found(&mut found, &policy, observed, events);
        let by = if speaker == Speaker::Human { Actor::User } else { Actor::Model };
        let [_, size] = ground.size();
        let (limit, counter) = (ground.live.limit, ground.tail.tokens.gauge().counter);
        let meanwhile = match by == Actor::Model && !found.is_empty() {
            true => self.done_meanwhile(ground, key, state),
            false => Vec::new(),
        };
        let saying = Saying { by: &by, said_in: key, meanwhile: &meanwhile };
        // What a person locks in the words of the markers stays, however much.
        let is_bound = by == Actor::Model || policy != BUILTIN;
        for mut found in found {
            let goals = state.acts.as_ref().map(|acts| &acts.goals).filter(|_| is_bound);
            let most = goals.and_then(|goals| bound_lock(goals, &mut found, limit, counter));
            let text = self.redaction().text(&found.text);
            let warning = most.map(|most| unlocked(&text, most));
            let told = self.said_of_goals(found, saying, state, ground.at);
            let warning = warning.filter(|_| told.is_some());
            told.into_iter().chain(warning).for_each(|told| events.add([size; 2], told));
        }
    }
}

impl Session {
    /// Leaves as much of what a policy found in one text as one text can say.
    fn bound_found(
        &self,
        found: &mut Vec<Found>,
        policy: &str,
        observed: ObservedTurn<'_, '_, '_>,
        events: &mut TurnEvents,
    ) {
        if found.len() <= MOST_FOUND {
            return;
        }
        let [_, size] = observed.ground.size();
        let text = format!(
            "`goals` finds {} things in one text: the first {MOST_FOUND} are recorded",
            found.len()
        );
        found.truncate(MOST_FOUND);
        let policy = policy.to_owned();
        events.add([size; 2], EventKind::PolicyWarning { policy, text, level: None });
    }
}

/// Tells that a decision is recorded without its lock.
fn unlocked(decision: &str, most: u64) -> EventKind {
    let text = format!(
        "`{decision}` is recorded without its lock: what a model locks takes at most {most} tokens of \
         this window; `epitome goal lock` locks it"
    );
    EventKind::PolicyWarning { policy: GOALS.to_owned(), text, level: None }
}

/// A text that may say something of goals, and the message that said it.
struct SaidText {
    text: String,
    speaker: Speaker,
    key: EntryKey,
}

/// A new message, as policies are told of it.
fn arriving(entry: &Entry, text: &str, ground: &TurnContext<'_, '_>) -> Arriving {
    let calls = entry.calls().next();
    Arriving {
        id: ground.tail.place(entry.id).into(),
        role: entry.role.into(),
        speaker: speaker(entry).into(),
        tool: calls.map(|call| call.tool.clone()),
        args: calls.map(|call| call.arguments.clone()),
        tokens: ground.tail.tokens.entry(entry.id),
        lines: line_count(text) as u64,
        error: entry.results().any(|result| result.error),
    }
}

/// A call, as policies are told of it.
fn action(call: &ToolCall) -> Action {
    Action { tool: call.tool.clone(), arguments: call.arguments.clone() }
}

/// What an entry says in words: calls of tools, what they return, and notes of the client are none.
fn spoken(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match (&part.body, part.speaker) {
        (PartBody::Text(text), Speaker::Human | Speaker::Model) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
