//! A chain with links that only pass on is the chain without them (RULES 18).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use epitome_kernel::types::hook::{
    Budgets, BudgetsJob, Common, EventJob, Found, FoundKind, GoalsJob, MessageTexts, Noted,
    PlanJob, WriteFile,
};
use epitome_kernel::types::{CompactionCause, Event, EventKind, Speaker};
use epitome_kernel::{
    Answer, ChainRound, HookInterrupt, HookNotes, HookReply, HookResult, Job, ModelQuestion,
    NextPolicies, Policy, PolicyChain, PolicyError,
};
use proptest::prelude::*;

/// What a policy makes of every job.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// It has no opinion.
    Silent,
    /// It answers with this.
    Says(u64),
    Fails,
    /// It answers with more than those behind it.
    Adds(u64),
    /// It has a model asked so many times before it answers.
    Asks(usize),
    /// It asks those behind it about another job, twice, and goes by that.
    Changes(u64),
    /// It asks those behind it, and fails.
    FailsAfter,
}

/// How a link passes on.
#[derive(Clone, Copy, Debug)]
enum Link {
    NoHook,
    Through,
    Twice,
    CallsAndSaysNothing,
    ThroughACopy,
}

struct Counted<T> {
    name: String,
    manner: T,
    asked: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl<T> Counted<T> {
    /// Takes note that it is asked, in the books of the test and in its memo.
    fn count(&self, rest: &NextPolicies<'_>) {
        let mut asked = self.asked.lock().unwrap();
        *asked.entry(self.name.clone()).or_default() += 1;
        let noted = rest.memo(&self.name).map_or(0, |memo| memo.parse::<u64>().unwrap());
        rest.set_memo(&self.name, (noted + 1).to_string());
    }

    fn failure(&self, job: &Job<'_>) -> HookInterrupt {
        let (policy, what) = (self.name.clone(), "it is broken".to_owned());
        HookInterrupt::Error(PolicyError { policy, hook: job.hook(), what })
    }
}

fn saying(job: &Job<'_>, name: &str, figure: u64) -> Option<Answer> {
    Some(match job {
        Job::Budgets(_) => Answer::Budgets(Budgets { soft: Some(figure), ..Budgets::default() }),
        Job::Goals(_) => Answer::Goals(vec![Found {
            kind: FoundKind::Goal,
            text: figure.to_string(),
            state: None,
        }]),
        Job::Event(_) => Answer::Event(Noted {
            write_file: Some(WriteFile { name: name.to_owned(), text: None, append: None }),
        }),
        _ => return None,
    })
}

fn figure(answer: Option<Answer>) -> u64 {
    match answer {
        Some(Answer::Budgets(budgets)) => budgets.soft.unwrap_or_default(),
        Some(Answer::Goals(found)) => {
            found.iter().filter_map(|it| it.text.parse().ok()).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// The same job, said anew, with another name of its session where one is given.
fn copied(job: &Job<'_>, rest: &NextPolicies<'_>, named: Option<&str>) -> HookResult<Answer> {
    let common = |of: &Common| {
        let session = named.unwrap_or(&of.session).to_owned();
        Common { session, ..of.clone() }
    };
    match job {
        Job::Budgets(job) => rest.call(&Job::Budgets(&BudgetsJob { common: common(&job.common) })),
        Job::Goals(job) => {
            rest.call(&Job::Goals(&GoalsJob { common: common(&job.common), ..(*job).clone() }))
        }
        Job::Event(job) => {
            rest.call(&Job::Event(&EventJob { common: common(&job.common), ..(*job).clone() }))
        }
        _ => Ok(None),
    }
}

impl Policy for Counted<Manner> {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
        self.count(rest);
        match self.manner {
            Manner::Silent => Ok(None),
            Manner::Says(figure) => Ok(saying(job, &self.name, figure)),
            Manner::Fails => Err(self.failure(job)),
            Manner::Adds(more) => {
                let behind = rest.call(job)?;
                Ok(saying(job, &self.name, figure(behind) + more))
            }
            Manner::Asks(times) => {
                let id = format!("{}{}", self.name, job.common().replies.len());
                let own = |id: &&String| id.starts_with(&self.name);
                match job.common().replies.keys().filter(own).count() < times {
                    true => Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                        id,
                        ..ModelQuestion::default()
                    }))),
                    false => Ok(saying(job, &self.name, times as u64)),
                }
            }
            Manner::Changes(more) => {
                let behind = [(); 2].map(|()| copied(job, rest, Some("another")));
                let [behind, again] = behind;
                assert_eq!(behind, again);
                Ok(saying(job, &self.name, figure(behind?) + more))
            }
            Manner::FailsAfter => {
                rest.call(job)?;
                Err(self.failure(job))
            }
        }
    }
}

struct Passing(String, Link);

impl Policy for Passing {
    fn name(&self) -> &str {
        &self.0
    }

    fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
        match self.1 {
            Link::NoHook => Ok(None),
            Link::Through => rest.call(job),
            Link::Twice => {
                rest.call(job)?;
                rest.call(job)
            }
            Link::CallsAndSaysNothing => {
                rest.call(job)?;
                Ok(None)
            }
            Link::ThroughACopy => copied(job, rest, None),
        }
    }
}

/// All that can be seen of a chain that is asked.
type Seen = (
    Vec<HookResult<Answer>>,
    BTreeMap<String, u64>,
    BTreeMap<String, String>,
    Vec<String>,
    Vec<String>,
);

/// Asks a chain about these jobs one after the other, as a session does.
fn seen(manners: &[Manner], links: &[(usize, Link)], jobs: &[u8]) -> Seen {
    let asked = Arc::default();
    let mut policies: Vec<Arc<dyn Policy>> = Vec::new();
    for place in 0..=manners.len() {
        let here =
            links.iter().enumerate().filter(|(_, (at, _))| at % (manners.len() + 1) == place);
        for (number, (_, link)) in here {
            policies.push(Arc::new(Passing(format!("link{number}"), *link)));
        }
        if let Some(&manner) = manners.get(place) {
            let (name, asked) = (format!("p{place}"), Arc::clone(&asked));
            policies.push(Arc::new(Counted { name, manner, asked }));
        }
    }
    let chain = PolicyChain::new(policies, BTreeMap::new());
    let mut answers = Vec::new();
    let (mut told, mut notes) = (Vec::new(), HookNotes::default());
    for kind in jobs {
        let round = ChainRound::default();
        let mut replies = BTreeMap::new();
        for _ in 0..3 {
            let common = Common { replies: replies.clone(), ..Common::default() };
            let rest = chain.ask().within(&round);
            let reply = match kind % 3 {
                0 => rest.reply(&Job::Budgets(&BudgetsJob { common })),
                1 => {
                    let (speaker, text, goals) =
                        (Speaker::Model.into(), "Done.".into(), <_>::default());
                    rest.reply(&Job::Goals(&GoalsJob { common, speaker, text, goals }))
                }
                _ => {
                    let what = EventKind::ContextWarning { percent: 70 };
                    let event =
                        Event { session: String::new(), at: String::new(), tokens: [0; 2], what };
                    rest.reply(&Job::Event(&EventJob { common, event }))
                }
            };
            let HookReply { result, by, notes: more } = reply;
            let id = result.as_ref().err().map(|ask| ask.id.clone());
            answers.push(result.map_err(HookInterrupt::Ask));
            told.extend(by.map(|by| by.policy));
            notes.add(more);
            let Some(id) = id else { break };
            replies.insert(id, "Yes.".to_owned());
        }
    }
    told.extend(notes.errors.iter().map(ToString::to_string));
    let exports = notes.files.iter().map(|file| format!("{} {}", file.policy, file.export.name));
    let asked = asked.lock().unwrap().clone();
    (answers, asked, chain.memos(), told, exports.collect())
}

fn manner() -> impl Strategy<Value = Manner> {
    prop_oneof![
        2 => Just(Manner::Silent),
        2 => (1..5u64).prop_map(Manner::Says),
        1 => Just(Manner::Fails),
        2 => (1..5u64).prop_map(Manner::Adds),
        1 => (1..3usize).prop_map(Manner::Asks),
        1 => (1..5u64).prop_map(Manner::Changes),
        1 => Just(Manner::FailsAfter),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    use Link::*;
    prop::sample::select(vec![NoHook, Through, Twice, CallsAndSaysNothing, ThroughACopy])
}

proptest! {
    #[test]
    fn links_that_pass_on_change_nothing(
        manners in prop::collection::vec(manner(), 0..5),
        links in prop::collection::vec((0..9usize, link()), 1..7),
        jobs in prop::collection::vec(any::<u8>(), 1..4),
    ) {
        prop_assert_eq!(seen(&manners, &links, &jobs), seen(&manners, &[], &jobs));
    }

    /// Without models nobody is asked twice about one job, whatever policies do with it. One that
    /// makes up a job has those behind it asked about two.
    #[test]
    fn nobody_is_asked_twice(manners in prop::collection::vec(manner(), 0..6), kind in any::<u8>()) {
        let (_, asked, ..) = seen(&manners, &[], &[kind]);
        let changes = |manner: &&Manner| matches!(manner, Manner::Changes(_));
        for (at, manner) in manners.iter().enumerate() {
            let jobs = 1u64 << manners[..at].iter().filter(changes).count().min(1);
            let waits = |manner: &Manner| matches!(manner, Manner::Asks(_));
            if !manners.iter().any(waits) {
                let count = asked.get(&format!("p{at}")).copied().unwrap_or_default();
                prop_assert!(count <= jobs, "p{} {:?} was asked {} times", at, manner, count);
            }
        }
    }
}

/// Ten links that pass on ask the one behind them once; it was 1,024 times.
#[test]
fn a_chain_of_links_costs_what_one_does() {
    for link in [Link::Through, Link::Twice, Link::CallsAndSaysNothing, Link::ThroughACopy] {
        let (answers, asked, ..) = seen(&[Manner::Silent], &[(0, link); 10], &[0, 1, 2]);
        assert_eq!((answers.len(), asked["p0"]), (3, 3), "{link:?}");
    }
}

/// Texts that are not part of what a job prints tell two jobs apart.
#[test]
fn a_job_with_other_texts_is_another_job() {
    struct Said(&'static str);
    impl MessageTexts for Said {
        fn text(&self, _: epitome_kernel::types::hook::MessageNumber) -> Option<String> {
            Some(self.0.to_owned())
        }
    }
    struct Reads(AtomicU64);
    impl Policy for Reads {
        fn name(&self) -> &str {
            "reads"
        }
        fn plan(
            &self,
            _: &PlanJob<'_>,
            _: &NextPolicies<'_>,
        ) -> HookResult<epitome_kernel::types::hook::Orders> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        }
    }
    struct Rewords(&'static [&'static str]);
    impl Policy for Rewords {
        fn name(&self) -> &str {
            "rewords"
        }
        fn plan(
            &self,
            job: &PlanJob<'_>,
            rest: &NextPolicies<'_>,
        ) -> HookResult<epitome_kernel::types::hook::Orders> {
            for text in self.0 {
                rest.plan(&PlanJob { texts: &Said(text), ..job.clone() })?;
            }
            Ok(None)
        }
    }
    let check = |texts, times| {
        let reads = Arc::new(Reads(AtomicU64::new(0)));
        let chain =
            PolicyChain::new(vec![Arc::new(Rewords(texts)), reads.clone()], BTreeMap::new());
        let mut job = PlanJob {
            common: Common::default(),
            entries: <_>::default(),
            checkpoints: Vec::new(),
            target: 0,
            max_tokens: 0,
            floor: 0,
            budgets: Budgets::default(),
            cause: CompactionCause::Soft,
            watermark: None,
            watermark_lost: false,
            texts: &Said("as it was"),
        };
        job.entries.count = 1;
        assert_eq!(chain.ask().plan(&job), Ok(None));
        assert_eq!(reads.0.load(Ordering::Relaxed), times);
    };
    check(&["as it was", "as it was"], 1);
    check(&["otherwise", "otherwise"], 2);
    check(&["otherwise", "in a third way"], 3);
}
