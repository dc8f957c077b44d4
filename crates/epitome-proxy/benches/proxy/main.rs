//! The proxy beside a bare pass-through: what it adds to a request, how much gets through, what it
//! costs in time of the processor and in memory.
//!
//! `cargo bench -p epitome-proxy` starts a provider and three things in front of it, each in a
//! process of its own (this program again): `hyper` hands bodies through as they come, `buffer`
//! takes each in whole first, as whatever rewrites must, and `epitome` is the proxy with a store on
//! disk. All get the same requests in turns, so what the machine does otherwise hits all alike.
//! `-- --quick` takes a tenth of the rounds.
//!
//! `--rival NAME=URL[=PID]`, as often as wanted, measures a proxy that already runs along with them,
//! with the time and memory of the process and all below it. It must hand requests on to the
//! provider, which listens where `--upstream-at ADDRESS` says. What streams is not asked of it: the
//! provider and the comparison go by bytes that rivals write anew.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and files, and prints"
)]

mod load;
mod serve;
mod table;
mod talk;
mod target;
mod tree;

use std::time::Duration;

use load::{Client, Timed};
use table::Row;
use talk::Talk;
use target::Target;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Connections that send at the same time.
const CROWD: u64 = 32;
/// Requests of each of them in one round.
const BURST: usize = 4;

fn main() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    if let [serve, what, rest @ ..] = &*words
        && serve == "--serve"
    {
        return runtime.block_on(serve::serve(what, rest));
    }
    runtime.block_on(all(&Wanted::read(&words)?))
}

/// What the command line asks for.
struct Wanted {
    /// The share of the rounds: one in so many.
    few: usize,
    upstream: String,
    rivals: Vec<String>,
}

impl Wanted {
    fn read(words: &[String]) -> Result<Self, Fault> {
        let mut wanted = Self { few: 1, upstream: "127.0.0.1:0".into(), rivals: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().cloned().ok_or(format!("{word} says nothing"));
            match word.as_str() {
                "--quick" => wanted.few = 10,
                "--upstream-at" => wanted.upstream = value()?,
                "--rival" => wanted.rivals.push(value()?),
                // Cargo's own word.
                "--bench" => {}
                other => return Err(format!("{other} is not known").into()),
            }
        }
        Ok(wanted)
    }
}

/// Measures everything and says it.
async fn all(wanted: &Wanted) -> Result<(), Fault> {
    let folder = std::env::temp_dir().join(format!("epitome-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = match Bench::start(&folder.join("epitome.db"), wanted) {
        Ok(bench) => bench.run(wanted.few).await,
        Err(error) => Err(error),
    };
    std::fs::remove_dir_all(&folder)?;
    measured
}

/// What is measured: the provider itself first.
struct Bench {
    targets: Vec<Target>,
}

impl Bench {
    fn start(store: &std::path::Path, wanted: &Wanted) -> Result<Self, Fault> {
        let provider = Target::start("direct", &["provider", &wanted.upstream])?;
        let at = provider.address.to_string();
        let store = store.display().to_string();
        let hyper = Target::start("hyper", &["stream", &at])?;
        let buffer = Target::start("buffer", &["buffer", &at])?;
        let epitome = Target::start("epitome", &["epitome", &at, &store])?;
        let mut targets = vec![provider, hyper, buffer, epitome];
        for rival in &wanted.rivals {
            targets.push(Target::rival(rival)?);
        }
        Ok(Self { targets })
    }

    async fn run(&self, few: usize) -> Result<(), Fault> {
        let large = |seed| Talk::new(seed, 600_000);
        println!("one connection, 600 KB, known but for the last turn");
        self.alone(1, 300 / few, large).await?;
        println!("\none connection, 2 KB, a new conversation every ten requests");
        self.alone(10_000, 2_000 / few, |seed| Talk::new(seed, 2_000)).await?;
        println!("\none connection, 2 KB, an answer of 50 events");
        self.streamed(1_000 / few).await?;
        println!("\n{CROWD} connections, 600 KB");
        self.crowd(100_000, 10usize.div_ceil(few), large).await?;
        for target in &self.targets {
            println!("{:<8} {:>6.0} MB resident", target.name, target.resident()?);
        }
        println!("\n{CROWD} connections, 2 KB, new conversations every ten requests");
        self.crowd(200_000, 60 / few, |seed| Talk::new(seed, 2_000)).await
    }

    /// One request after the other.
    async fn alone(
        &self,
        seed: u64,
        rounds: usize,
        begin: impl Fn(u64) -> Talk,
    ) -> Result<(), Fault> {
        let mut clients = connected(&self.targets).await?;
        let mut rows: Vec<Row> = self.targets.iter().map(|target| Row::new(&target.name)).collect();
        let warm = rounds / 10 + 2;
        let mut talk = begin(seed);
        for round in 0..warm + rounds {
            if round == warm {
                self.each(&mut rows, |row, used| row.used = -used)?;
            }
            let body = talk.next(false);
            for place in turn(round, clients.len()) {
                let Timed { whole, .. } = clients[place].ask(body.clone()).await?;
                rows[place].times.extend((round >= warm).then_some(whole));
            }
        }
        self.each(&mut rows, |row, used| row.used += used)?;
        table::latencies(&rows, rounds);
        Ok(())
    }

    /// One answer after the other that comes in pieces, and is the same from all of ours.
    async fn streamed(&self, rounds: usize) -> Result<(), Fault> {
        let targets: Vec<&Target> = self.targets.iter().filter(|target| target.ours()).collect();
        let mut clients = connected(targets.iter().copied()).await?;
        let mut firsts: Vec<Row> = targets.iter().map(|target| Row::new(&target.name)).collect();
        let mut wholes = firsts.clone();
        let mut talk = Talk::new(50_000, 2_000);
        for round in 0..rounds + 10 {
            let body = talk.next(true);
            let mut said = None;
            for place in turn(round, clients.len()) {
                let Timed { first, whole, bytes } = clients[place].ask(body.clone()).await?;
                if said.get_or_insert(bytes.clone()) != &bytes {
                    let name = &targets[place].name;
                    return Err(format!("{name} changed a stream").into());
                }
                if round >= 10 {
                    firsts[place].times.push(first);
                    wholes[place].times.push(whole);
                }
            }
        }
        table::streams(&firsts, &wholes);
        Ok(())
    }

    /// Many connections, each with a conversation of its own.
    async fn crowd(
        &self,
        seed: u64,
        rounds: usize,
        begin: impl Fn(u64) -> Talk,
    ) -> Result<(), Fault> {
        let mut rows: Vec<Row> = self.targets.iter().map(|target| Row::new(&target.name)).collect();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
        let talks: Vec<Talk> = (0..CROWD).map(|one| begin(seed + one)).collect();
        let mut crowds = Vec::new();
        for target in &self.targets {
            let mut crowd = Vec::new();
            for talk in &talks {
                crowd.push((Client::new(target.address).await?, talk.clone()));
            }
            crowds.push(crowd);
        }
        for round in 0..=rounds {
            for place in turn(round, rows.len()) {
                let before = self.targets[place].used()?;
                let started = std::time::Instant::now();
                let (crowd, times) = load::burst(std::mem::take(&mut crowds[place]), BURST).await?;
                let taken = started.elapsed();
                crowds[place] = crowd;
                // The first round makes conversations known.
                if round > 0 {
                    rates[place].push(times.len() as f64 / taken.as_secs_f64());
                    rows[place].times.extend(times);
                    rows[place].used += self.targets[place].used()? - before;
                }
            }
        }
        table::crowds(&rows, &rates);
        Ok(())
    }

    fn each(&self, rows: &mut [Row], put: impl Fn(&mut Row, f64)) -> Result<(), Fault> {
        for (row, target) in rows.iter_mut().zip(&self.targets) {
            put(row, target.used()?);
        }
        Ok(())
    }
}

/// A connection to each.
async fn connected(targets: impl IntoIterator<Item = &Target>) -> Result<Vec<Client>, Fault> {
    let mut clients = Vec::new();
    for target in targets {
        clients.push(Client::new(target.address).await?);
    }
    Ok(clients)
}

/// All places, each round from another one on.
fn turn(round: usize, places: usize) -> impl Iterator<Item = usize> {
    (0..places).map(move |place| (place + round) % places)
}

/// Milliseconds.
fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
