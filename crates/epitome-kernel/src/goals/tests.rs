//! What acts come to: a golden test for each sentence of RULES 56, and laws over any acts.

use epitome_types::hook::{Found, FoundKind};
use epitome_types::{
    Actor, DecisionKind as Kind, MilestoneState as State, RecordedAction, SessionAction,
};
use proptest::prelude::*;

use super::*;
use crate::port::TokenCounter;

/// Counts words.
struct ByWord;

impl TokenCounter for ByWord {
    fn id(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    fn image(&self, _: &epitome_types::ImagePart) -> u64 {
        0
    }
}

fn set_to(text: &str) -> GoalAction {
    GoalChange::Set { text: text.into(), priority: Priority::Medium }.into()
}

fn step(text: &str, state: State) -> GoalAction {
    GoalChange::Milestone { text: text.into(), state }.into()
}

fn decided(text: &str, locked: bool, kind: Kind) -> GoalAction {
    GoalChange::Decide { text: text.into(), rationale: None, locked, kind }.into()
}

fn because(text: &str, why: &str) -> GoalAction {
    let (text, rationale) = (text.into(), Some(why.into()));
    GoalChange::Decide { text, rationale, locked: false, kind: Kind::Plain }.into()
}

fn file(path: &str, change: ArtifactChange) -> GoalAction {
    GoalChange::Artifact { path: path.into(), change }.into()
}

fn then(text: &str) -> GoalAction {
    GoalChange::Next { text: text.into() }.into()
}

fn of(id: &str, change: GoalChange) -> GoalAction {
    GoalAction::new(Some(id.into()), change)
}

/// What these acts come to, and what was ignored.
fn come_to(acts: &[GoalAction]) -> (Goals, Vec<String>) {
    let acted = |(place, act): (usize, &GoalAction)| RecordedAction {
        act: SessionAction::Goal(act.clone()),
        by: Actor::User,
        at: format!("t{place}"),
    };
    let acts: Vec<RecordedAction> = acts.iter().enumerate().map(acted).collect();
    let SessionProjection { goals, ignored } = project(&acts);
    (goals, ignored.into_iter().map(|(place, error)| format!("{place}: {error}")).collect())
}

fn block(goals: &Goals, most: u64) -> String {
    render(goals, most, &ByWord, &GoalWording::ENGLISH)
}

/// The goal block that these acts lead to, none of them ignored.
#[track_caller]
fn check(acts: &[GoalAction], most: u64, expected: &str) {
    let (goals, ignored) = come_to(acts);
    assert_eq!(ignored, [""; 0]);
    assert_eq!(block(&goals, most), expected);
}

#[track_caller]
fn check_ignored(acts: &[GoalAction], expected: &[&str]) {
    let (_, ignored) = come_to(acts);
    assert_eq!(ignored, expected);
}

fn all_sorts() -> Vec<GoalAction> {
    vec![
        set_to("Ship the importer"),
        of("g1", GoalChange::Prioritise { priority: Priority::High }),
        step("parser", State::Completed),
        step("writer", State::InProgress),
        step("manual", State::Pending),
        because("Use SQLite", "one file is enough"),
        decided("Never touch the schema of v1", true, Kind::Plain),
        decided("Rows are append-only", false, Kind::Architecture),
        file("src/import.rs", ArtifactChange::Created),
        file("tests/import.rs", ArtifactChange::Modified),
        then("write the manual"),
        then("ask for a review"),
    ]
}

/// RULES 56, first sentence: what a goal has.
#[test]
fn a_goal_holds_all_that_is_said_of_it() {
    let (goals, ignored) = come_to(&all_sorts());
    assert_eq!(ignored, [""; 0]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&goals).unwrap());
}

/// RULES 56: "the original objective, its revisions and the current one are kept apart".
#[test]
fn the_first_wording_outlives_every_revision() {
    let revised = |text: &str| GoalChange::Revise { text: text.into() }.into();
    let (goals, _) = come_to(&[set_to("a"), revised("b"), revised("c"), revised("c")]);
    let goal = &goals.goals[0];
    assert_eq!((goal.objective.as_str(), goal.text.as_str()), ("a", "c"));
    let revisions = goal.revisions.iter().map(|it| (it.text.as_str(), it.at.as_str()));
    assert_eq!(revisions.collect::<Vec<_>>(), [("b", "t1"), ("c", "t2")]);
    check(&[set_to("a"), revised("b")], 200, "Goal: b\nFirst stated as: a");
}

/// RULES 56: "artifacts (type from the path: test, documentation, else file)".
#[test]
fn a_file_is_told_by_its_path() {
    use ArtifactKind::{Documentation, File, Test};
    for (path, kind) in [
        ("src/lib.rs", File),
        ("src/latest.rs", File),
        ("requirements.txt", File),
        ("tests/it/main.rs", Test),
        ("web/__tests__/app.ts", Test),
        (r"src\Tests\Foo.cs", Test),
        ("test_app.py", Test),
        ("pkg/app_test.go", Test),
        ("app.spec.ts", Test),
        ("README", Documentation),
        ("docs/logo.svg", Documentation),
        ("notes/Plan.MD", Documentation),
    ] {
        assert_eq!(kind_of(path), kind, "{path}");
    }
}

/// RULES 56: "about 200 tokens; longer: completed milestones and artifacts fold to counts, locked
/// decisions never", and an architecture decision "is kept like a locked one".
#[test]
fn what_is_done_folds_first_and_what_is_locked_never() {
    check(
        &all_sorts(),
        200,
        "Goal (high priority): Ship the importer\nCompleted:\n- parser\nIn progress:\n- writer\n\
         Pending:\n- manual\nDecided, locked:\n- Never touch the schema of v1\n\
         Decided, architecture:\n- Rows are append-only\nDecided:\n\
         - Use SQLite (because one file is enough)\nFiles:\n- src/import.rs (created)\n\
         - tests/import.rs (modified)\nNext:\n- write the manual\n- ask for a review",
    );
    check(
        &all_sorts(),
        54,
        "Goal (high priority): Ship the importer\nCompleted: 1\nIn progress:\n- writer\n\
         Pending:\n- manual\nDecided, locked:\n- Never touch the schema of v1\n\
         Decided, architecture:\n- Rows are append-only\nDecided:\n\
         - Use SQLite (because one file is enough)\nFiles: 1 created, 1 modified\nNext:\n\
         - write the manual\n- ask for a review",
    );
    check(
        &all_sorts(),
        0,
        "Goal (high priority): Ship the importer\nCompleted: 1\nIn progress: 1\nPending: 1\n\
         Decided, locked:\n- Never touch the schema of v1\nDecided, architecture:\n\
         - Rows are append-only\nDecided: 1\nFiles: 1 created, 1 modified\nNext:\n\
         - ask for a review",
    );
}

/// RULES 3: active goals, locked and architecture decisions stay.
#[test]
fn what_is_locked_outlives_its_goal() {
    let locked = decided("No network", true, Kind::Plain);
    let kept = "Decided, locked:\n- No network";
    check(&[set_to("a"), locked.clone(), GoalChange::Pause.into()], 0, kept);
    check(&[set_to("a"), locked.clone(), GoalChange::Complete.into()], 0, kept);
    // Decided while no goal was active.
    check(&[locked.clone(), decided("Tabs", false, Kind::Plain)], 200, kept);
    check(&[locked, set_to("a")], 0, &format!("Goal: a\n{kept}"));
    check(&[], 200, "");
}

/// RULES 56: "locked decisions cannot be changed".
#[test]
fn what_is_locked_cannot_be_changed() {
    let locked = [set_to("a"), decided("No network", true, Kind::Plain)];
    let error = "2: the decision `No network` is locked and cannot be changed";
    for change in [
        because("no  network", "slow"),
        decided("No network", false, Kind::Architecture),
        of("g1", because("No network", "slow").change),
    ] {
        let acts = [&locked[..], &[change]].concat();
        check_ignored(&acts, &[error]);
        assert_eq!(come_to(&acts).0, come_to(&locked).0);
    }
    // What only says it again is no change.
    check_ignored(&[&locked[..], &[decided("No network", false, Kind::Plain)]].concat(), &[]);
}

#[test]
fn a_lock_can_be_taken_back_and_the_decision_changed_then() {
    let locked = [set_to("a"), decided("Use tabs", true, Kind::Plain)];
    let unlock = || GoalChange::Unlock { decision: "use TABS".into() }.into();
    let (mut goals, _) = come_to(&[&locked[..], &[unlock()]].concat());
    assert!(!goals.goals[0].decisions[0].locked);
    assert_eq!(enact(&mut goals, &unlock(), "later"), Ok(false));
    let why = because("Use tabs", "they are wide");
    assert_eq!(enact(&mut goals, &why, "later"), Ok(true));
    assert_eq!(goals.goals[0].decisions[0].rationale.as_deref(), Some("they are wide"));
    let missing = GoalChange::Unlock { decision: "Use spaces".into() }.into();
    assert!(matches!(enact(&mut goals, &missing, "later"), Err(GoalError::NoDecision { .. })));
}

/// RULES 57: "a repeated decision is not doubled".
#[test]
fn a_repeated_decision_is_not_doubled() {
    let plain = || decided("Use tabs", false, Kind::Plain);
    let again = decided("use  TABS", false, Kind::Architecture);
    let lock = GoalChange::Lock { decision: "Use Tabs".into() }.into();
    let (goals, _) =
        come_to(&[set_to("a"), plain(), again, because("Use tabs", "x"), plain(), lock]);
    let [only] = &goals.goals[0].decisions[..] else { panic!("{goals:?}") };
    assert_eq!((only.text.as_str(), only.rationale.as_deref()), ("Use tabs", Some("x")));
    assert_eq!((only.locked, only.kind, only.at.as_str()), (true, Kind::Architecture, "t1"));
    // In another goal neither.
    let (goals, _) = come_to(&[plain(), set_to("a"), plain(), set_to("b"), plain()]);
    assert_eq!((goals.decisions.len(), goals.goals[0].decisions.len()), (1, 0));
    assert!(goals.goals[1].decisions.is_empty());
}

#[test]
fn a_milestone_that_is_completed_again_takes_its_planned_step_and_says_so() {
    let done = step("Ship it", State::Completed);
    let (mut goals, _) = come_to(&[set_to("build"), done.clone(), then("ship it")]);
    assert_eq!(goals.goals[0].next, ["ship it"]);
    assert_eq!(enact(&mut goals, &done, "later"), Ok(true));
    assert!(goals.goals[0].next.is_empty());
    assert_eq!(enact(&mut goals, &done, "later"), Ok(false));
}

/// RULES 57: "an unknown milestone is added".
#[test]
fn an_unknown_milestone_is_added_and_a_known_one_moves_on() {
    let (goals, _) = come_to(&[
        set_to("a"),
        then("Parser"),
        step("parser", State::Pending),
        step("writer", State::InProgress),
        step("Parser", State::Completed),
    ]);
    let milestones = goals.goals[0].milestones.iter();
    let told: Vec<_> = milestones.map(|it| (it.text.as_str(), it.state, it.at.as_str())).collect();
    assert_eq!(told, [("parser", State::Completed, "t4"), ("writer", State::InProgress, "t3")]);
    assert_eq!(goals.goals[0].next, [""; 0], "a step that is done is no next step");
}

/// RULES 57: "`[GOAL]` creates and activates a goal if none is active; with one active it is
/// recorded as a revision".
#[test]
fn a_goal_that_is_found_is_a_revision_where_one_is_active() {
    let found = |text: &str| Found { kind: FoundKind::Goal, text: text.into(), state: None };
    let mut goals = Goals::default();
    for text in ["a", "b"] {
        let act = act_of(&goals, &found(text)).unwrap();
        assert!(enact(&mut goals, &act, "now").unwrap());
    }
    enact(&mut goals, &GoalChange::Complete.into(), "now").unwrap();
    let act = act_of(&goals, &found("c")).unwrap();
    assert!(enact(&mut goals, &act, "now").unwrap());
    let told: Vec<_> = goals.goals.iter().map(|goal| (&*goal.id, &*goal.text)).collect();
    assert_eq!(told, [("g1", "b"), ("g2", "c")]);
    assert_eq!(goals.goals[0].objective, "a");
    assert_eq!(goals.active().unwrap().id, "g2");
}

#[track_caller]
fn check_found(kind: &str, state: Option<&str>, expected: Result<GoalChange, &str>) {
    let (text, state) = ("x".to_owned(), state.map(str::to_owned));
    let found = Found { kind: FoundKind::of_word(kind).unwrap(), text, state };
    let act = act_of(&Goals::default(), &found);
    let found = act.map(|act| act.change).map_err(|error| error.to_string());
    assert_eq!(found, expected.map_err(str::to_owned), "{kind}");
}

/// RULES 57: "Case of the state does not matter".
#[test]
fn findings_of_every_kind_become_acts() {
    let milestone = |state| Ok(GoalChange::Milestone { text: "x".into(), state });
    let decision = |locked, kind| Ok(decided("x", locked, kind).change);
    let touched = |change| Ok(file("x", change).change);
    check_found("milestone", None, milestone(State::Pending));
    check_found("milestone", Some("Pending"), milestone(State::Pending));
    check_found("milestone", Some("IN PROGRESS"), milestone(State::InProgress));
    check_found("milestone", Some("in-progress"), milestone(State::InProgress));
    check_found("milestone", Some("in_progress"), milestone(State::InProgress));
    check_found("milestone", Some("COMPLETED"), milestone(State::Completed));
    check_found("decision", None, decision(false, Kind::Plain));
    check_found("decision", Some("LOCKED"), decision(true, Kind::Plain));
    check_found("decision", Some("Architecture"), decision(false, Kind::Architecture));
    check_found("artifact", Some("created"), touched(ArtifactChange::Created));
    check_found("artifact", Some("MODIFIED"), touched(ArtifactChange::Modified));
    check_found("artifact", Some("Deleted"), touched(ArtifactChange::Deleted));
    check_found("next", None, Ok(then("x").change));
    let expected = "a milestone cannot be `done`: `pending`, `in_progress` or `completed`";
    check_found("milestone", Some("done"), Err(expected));
    let expected = "a decision cannot be `open`: `locked`, `architecture` or nothing";
    check_found("decision", Some("open"), Err(expected));
    let expected = "an artifact cannot be `moved`: `created`, `modified` or `deleted`";
    check_found("artifact", Some("moved"), Err(expected));
}

#[test]
fn one_goal_is_active_at_a_time() {
    let (mut goals, _) = come_to(&[set_to("a"), set_to("b")]);
    let active = |goals: &Goals| goals.active().map(|goal| goal.id.clone());
    assert_eq!(active(&goals).as_deref(), Some("g2"));
    enact(&mut goals, &of("g1", GoalChange::Resume), "now").unwrap();
    assert_eq!(active(&goals).as_deref(), Some("g1"));
    assert_eq!(goals.goals[1].status, GoalStatus::Paused);
    enact(&mut goals, &GoalChange::Complete.into(), "now").unwrap();
    assert_eq!(active(&goals), None);
    // Without an id it is the newest one that is paused.
    enact(&mut goals, &GoalChange::Resume.into(), "now").unwrap();
    assert_eq!(active(&goals).as_deref(), Some("g2"));
}

/// An act is about the goal that was meant when it was done.
#[test]
fn an_act_is_addressed_to_the_goal_that_is_meant() {
    let meant = |acts: &[GoalAction], act: GoalAction| addressed(&come_to(acts).0, act).goal;
    let two = [set_to("a"), set_to("b")];
    assert_eq!(meant(&[], set_to("a")).as_deref(), Some("g1"));
    assert_eq!(meant(&two, set_to("c")).as_deref(), Some("g3"));
    assert_eq!(meant(&two, set_to("b ")).as_deref(), Some("g2"));
    assert_eq!(meant(&two, then("x")).as_deref(), Some("g2"));
    assert_eq!(meant(&two, GoalChange::Resume.into()).as_deref(), Some("g1"));
    assert_eq!(meant(&two, of("g1", GoalChange::Pause)).as_deref(), Some("g1"));
    assert_eq!(meant(&two, decided("x", true, Kind::Plain)), None);
    assert_eq!(meant(&[], GoalChange::Pause.into()), None);
}

/// Two processes may give the same id.
#[test]
fn a_goal_that_is_set_twice_at_once_is_worded_anew() {
    let twice = |text: &str| of("g1", set_to(text).change);
    let (goals, ignored) = come_to(&[twice("a"), twice("b")]);
    assert_eq!(
        (goals.goals.len(), &*goals.goals[0].text, &*goals.goals[0].objective),
        (1, "b", "a")
    );
    assert_eq!(ignored, [""; 0]);
}

#[test]
fn what_cannot_be_taken_says_what_to_do() {
    let none = "0: no goal is active; set one, or name one by its id";
    check_ignored(&[step("x", State::Pending)], &[none]);
    check_ignored(&[GoalChange::Pause.into()], &[none]);
    let none = "0: no goal is paused; name the one to resume by its id";
    check_ignored(&[GoalChange::Resume.into()], &[none]);
    let unknown = "0: no goal `g7`; none was set yet";
    check_ignored(&[of("g7", GoalChange::Pause)], &[unknown]);
    let unknown = "2: no goal `g7`; there are g1 and g2";
    check_ignored(&[set_to("a"), set_to("b"), of("g7", GoalChange::Resume)], &[unknown]);
    let done = "2: the goal `g1` is completed; resume it first";
    check_ignored(&[set_to("a"), GoalChange::Complete.into(), of("g1", then("x").change)], &[done]);
    let empty = "0: the goal is empty; say it in a few words";
    check_ignored(&[set_to(" \n")], &[empty]);
    let long = "0: the goal has 2001 characters, 2000 are the most; say it shorter";
    check_ignored(&[set_to(&"ä".repeat(2_001))], &[long]);
    let missing = "0: no decision `x`; decide it first, or say it as it was decided";
    check_ignored(&[GoalChange::Lock { decision: "x".into() }.into()], &[missing]);
    let refused = refuse(&Goals::default(), &GoalChange::Pause.into());
    assert_eq!(refused, Err(GoalError::NoneActive));
    assert_eq!(refuse(&Goals::default(), &set_to("a")), Ok(()));
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]", "[a-c]{0,2} ?[A-C]", " *", "\\PC{0,12}"]
}

fn any_act() -> impl Strategy<Value = GoalAction> {
    let priority =
        || prop_oneof![Just(Priority::High), Just(Priority::Medium), Just(Priority::Low)];
    let state =
        || prop_oneof![Just(State::Pending), Just(State::InProgress), Just(State::Completed)];
    let touched = || {
        use ArtifactChange::{Created, Deleted, Modified};
        prop_oneof![Just(Created), Just(Modified), Just(Deleted)]
    };
    let kind = || prop_oneof![Just(Kind::Plain), Just(Kind::Architecture)];
    let change = prop_oneof![
        2 => (texts(), priority()).prop_map(|(text, priority)| GoalChange::Set { text, priority }),
        2 => texts().prop_map(|text| GoalChange::Revise { text }),
        1 => priority().prop_map(|priority| GoalChange::Prioritise { priority }),
        3 => (texts(), state()).prop_map(|(text, state)| GoalChange::Milestone { text, state }),
        4 => (texts(), prop::option::of(texts()), any::<bool>(), kind()).prop_map(
            |(text, rationale, locked, kind)| GoalChange::Decide { text, rationale, locked, kind }
        ),
        2 => texts().prop_map(|decision| GoalChange::Lock { decision }),
        2 => (texts(), touched()).prop_map(|(path, change)| GoalChange::Artifact { path, change }),
        2 => texts().prop_map(|text| GoalChange::Next { text }),
        1 => Just(GoalChange::Pause),
        1 => Just(GoalChange::Resume),
        1 => Just(GoalChange::Complete),
    ];
    (prop::option::weighted(0.3, "g[1-4]"), change)
        .prop_map(|(goal, change)| GoalAction::new(goal, change))
}

fn decisions(goals: &Goals) -> impl Iterator<Item = &Decision> {
    goals.goals.iter().flat_map(|goal| &goal.decisions).chain(&goals.decisions)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is done: what is locked stays as it is, so does what was first asked for, at most
    /// one goal is active, nothing is said twice, and an act that is refused changes nothing.
    #[test]
    fn acts_keep_the_laws(acts in prop::collection::vec(any_act(), 0..40), most in 0_u64..80) {
        let mut goals = Goals::default();
        for (place, act) in acts.iter().enumerate() {
            let before = goals.clone();
            let refused = refuse(&goals, act);
            let mut named = goals.clone();
            let address = addressed(&goals, act.clone());
            let same = enact(&mut named, &address, &place.to_string());
            let done = enact(&mut goals, act, &place.to_string());
            prop_assert_eq!(refused.is_err(), done.is_err());
            prop_assert_eq!(same.is_ok(), done.is_ok());
            prop_assert_eq!(&named, &goals, "{:?} is addressed to another", act);
            prop_assert_eq!(done == Ok(true), goals != before, "{:?} {:?}", act, done);
            for locked in decisions(&before).filter(|decision| decision.locked) {
                prop_assert!(decisions(&goals).any(|decision| decision == locked));
            }
            for (goal, old) in goals.goals.iter().zip(&before.goals) {
                prop_assert_eq!((&goal.id, &goal.objective), (&old.id, &old.objective));
                prop_assert!(goal.revisions.starts_with(&old.revisions));
            }
            prop_assert!(goals.goals.len() >= before.goals.len());
            let active = goals.goals.iter().filter(|goal| goal.status == GoalStatus::Active);
            prop_assert!(active.count() <= 1);
            // Done again at once, it changes nothing, but for what is about another goal then.
            let repeats = act.goal.is_some() || !matches!(
                act.change,
                GoalChange::Pause | GoalChange::Resume | GoalChange::Complete
            );
            if done.is_ok() && repeats {
                prop_assert_eq!(enact(&mut goals.clone(), act, "again"), Ok(false), "{:?}", act);
            }
            let block = block(&goals, most);
            for decision in decisions(&goals).filter(|decision| decision.stays()) {
                prop_assert!(block.contains(&format!("- {}", decision.text)), "{}", block);
            }
            if let Some(goal) = goals.active() {
                prop_assert!(block.contains(&goal.text) && block.contains(&goal.objective));
            }
        }
    }

    /// What is recorded comes back as it was.
    #[test]
    fn acts_outlive_their_recording(act in any_act()) {
        let acted = RecordedAction { act: SessionAction::Goal(act), by: Actor::Policy("team".into()), at: "now".into() };
        let written = serde_json::to_string(&acted).unwrap();
        prop_assert_eq!(serde_json::from_str::<RecordedAction>(&written).unwrap(), acted);
    }
}
