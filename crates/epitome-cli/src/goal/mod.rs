//! `epitome goal`: what a conversation is for, and what was decided on the way.
//!
//! Invariant: a change is recorded in the journal and nowhere else; the session that runs finds it
//! with its next request. What cannot be changed is one line that says what to do.

mod show;

pub(crate) use show::all as shown;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use epitome::types::hook::{HasShape, ValueShape};
use epitome::types::{
    Actor, Decision, DecisionKind, GoalAction, GoalChange, Goals, MilestoneState, Priority,
};

use crate::fault::CliError;
use crate::journal::JournalFlags;

/// Shows and sets goals, their milestones and decisions
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal set Ship the importer --priority high")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: GoalCommand,
}

#[derive(clap::Subcommand)]
enum GoalCommand {
    List(GoalListArgs),
    Set(SetArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Done(DoneArgs),
    Milestone(MilestoneArgs),
    Decide(DecideArgs),
    Lock(LockArgs),
    Unlock(UnlockArgs),
}

/// Lists the goals of a session with all that belongs to them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal list --session debugging-session")]
struct GoalListArgs {
    #[command(flatten)]
    of: Of,
}

/// Sets a goal; where one is active, words that one anew and keeps what was first asked for
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal set Ship the importer --priority high")]
struct SetArgs {
    /// What is to be reached
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// How much it matters
    #[arg(long, value_name = "HOW", value_parser = word(Priority::of_word))]
    priority: Option<Priority>,
    /// Sets another goal; the one that is active pauses
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    of: Of,
}

/// Pauses a goal: it stays out of prompts, but for what is locked
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal pause")]
struct PauseArgs {
    #[command(flatten)]
    which: GoalSelector,
}

/// Resumes a goal; another one that is active pauses
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal resume g1")]
struct ResumeArgs {
    #[command(flatten)]
    which: GoalSelector,
}

/// Completes a goal
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal done")]
struct DoneArgs {
    #[command(flatten)]
    which: GoalSelector,
}

/// Adds a milestone, or says how far a known one is
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal milestone Write the parser --state completed")]
struct MilestoneArgs {
    /// What is to be done
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// How far it is
    #[arg(long, value_name = "STATE", default_value = "pending",
        value_parser = word(MilestoneState::of_word))]
    state: MilestoneState,
    #[command(flatten)]
    goal: InGoal,
}

/// Records a decision, or what is new about one that was made before
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome goal decide Use SQLite --because 'one file is enough' --lock"
)]
struct DecideArgs {
    /// What was decided
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Why
    #[arg(long, value_name = "WHY")]
    because: Option<String>,
    /// Nothing may change it from now on
    #[arg(long)]
    lock: bool,
    /// It is about a pattern, a technology, an API contract or a schema
    #[arg(long)]
    architecture: bool,
    #[command(flatten)]
    goal: InGoal,
}

/// Locks a decision: nothing may change it from now on
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal lock d1")]
struct LockArgs {
    /// The decision: its number in the list (`d2`), or its words
    #[arg(required = true, value_name = "DECISION")]
    decision: Vec<String>,
    #[command(flatten)]
    of: Of,
}

/// Takes the lock of a decision back: it may change again
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome goal unlock d1")]
struct UnlockArgs {
    /// The decision: its number in the list (`d2`), or its words
    #[arg(required = true, value_name = "DECISION")]
    decision: Vec<String>,
    #[command(flatten)]
    of: Of,
}

#[derive(clap::Args)]
struct Of {
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(clap::Args)]
struct GoalSelector {
    /// The goal [default: the active one; to resume, the newest one that is paused]
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    of: Of,
}

#[derive(clap::Args)]
struct InGoal {
    /// The goal that it belongs to [default: the active one]
    #[arg(long, value_name = "ID")]
    goal: Option<String>,
    #[command(flatten)]
    of: Of,
}

/// Reads one of the words of a choice.
fn word<T: HasShape + Clone + Send + Sync + 'static>(
    of: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let words = match T::SHAPE {
        ValueShape::Word(words) => words,
        _ => &[],
    };
    PossibleValuesParser::new(words).try_map(move |word| of(&word).ok_or("there is no such word"))
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        GoalCommand::List(args) => list(&args.of),
        GoalCommand::Set(args) => set(args),
        GoalCommand::Pause(args) => turn(&args.which, GoalChange::Pause),
        GoalCommand::Resume(args) => turn(&args.which, GoalChange::Resume),
        GoalCommand::Done(args) => turn(&args.which, GoalChange::Complete),
        GoalCommand::Milestone(args) => {
            let (text, state) = (args.text.join(" "), args.state);
            args.goal.change(GoalChange::Milestone { text, state })
        }
        GoalCommand::Decide(args) => {
            let (text, rationale) = (args.text.join(" "), args.because.clone());
            let kind = match args.architecture {
                true => DecisionKind::Architecture,
                false => DecisionKind::Plain,
            };
            args.goal.change(GoalChange::Decide { text, rationale, locked: args.lock, kind })
        }
        GoalCommand::Lock(args) => {
            of_decision(&args.decision, &args.of, |decision| GoalChange::Lock { decision })
        }
        GoalCommand::Unlock(args) => {
            of_decision(&args.decision, &args.of, |decision| GoalChange::Unlock { decision })
        }
    }
}

fn list(of: &Of) -> Result<(), CliError> {
    let keeper = of.journal.open_at(of.session.as_deref())?.keeper;
    let goals = keeper.goals(of.session.as_deref()).map_err(CliError::of)?;
    of.journal.print(&goals, || show::all(&goals))
}

fn set(args: &SetArgs) -> Result<(), CliError> {
    let text = args.text.join(" ");
    args.of.change(|goals| setting(goals, text, args.priority, args.new))
}

/// The changes that set a goal, or word the active one anew.
pub(crate) fn setting(
    goals: &Goals,
    text: String,
    priority: Option<Priority>,
    new: bool,
) -> Vec<GoalAction> {
    if new || goals.active().is_none() {
        let priority = priority.unwrap_or(Priority::Medium);
        return vec![GoalChange::Set { text, priority }.into()];
    }
    let matters = priority.map(|priority| GoalChange::Prioritise { priority });
    let changes = [GoalChange::Revise { text }].into_iter().chain(matters);
    changes.map(GoalAction::from).collect()
}

fn turn(which: &GoalSelector, change: GoalChange) -> Result<(), CliError> {
    which.of.change(|_| vec![GoalAction::new(which.id.clone(), change)])
}

/// Changes a decision that is named by its words or its number in the list.
fn of_decision(
    words: &[String],
    of: &Of,
    change: impl Fn(String) -> GoalChange,
) -> Result<(), CliError> {
    let named = words.join(" ");
    of.change(|goals| {
        let listed = numbered(goals).find(|(number, _)| *number == named);
        let decision = listed.map_or(named.clone(), |(_, decision)| decision.text.clone());
        vec![change(decision).into()]
    })
}

/// All decisions in the order of the list, each with its number there.
fn numbered(goals: &Goals) -> impl Iterator<Item = (String, &Decision)> {
    let of_goals = goals.goals.iter().flat_map(|goal| &goal.decisions);
    (1..).map(|number: u32| format!("d{number}")).zip(of_goals.chain(&goals.decisions))
}

impl InGoal {
    fn change(&self, change: GoalChange) -> Result<(), CliError> {
        self.of.change(|_| vec![GoalAction::new(self.goal.clone(), change)])
    }
}

impl Of {
    /// Makes the changes that follow from how the goals stand, and says how they stand then.
    fn change(&self, changes: impl FnOnce(&Goals) -> Vec<GoalAction>) -> Result<(), CliError> {
        let keeper = self.journal.open_at(self.session.as_deref())?.keeper;
        let session = self.session.as_deref();
        let (before, at) = (keeper.goals(session).ok(), epitome::system_time());
        let acts = changes(&before.as_ref().map(|it| it.goals.clone()).unwrap_or_default());
        let after = keeper.change_goals(session, acts, &Actor::User, &at).map_err(CliError::of)?;
        self.journal.print(&after, || match before.as_ref() != Some(&after) {
            true => show::all(&after),
            false => format!("session {}: nothing changed, it says so already", after.session),
        })?;
        self.journal.tell_of_alike(&keeper, &after.session)
    }
}
