//! A replay that runs while something else happens: it is read line by line, and may be killed.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};

use serde_json::Value;

use crate::program::{Place, Ran};

/// A replay with `--json` that is running.
pub(crate) struct Playing {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Playing {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place.command(args).arg("--json").spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next object that it prints; none once it has ended, or where it was killed within a
    /// line.
    pub(crate) fn next(&mut self) -> Option<Value> {
        serde_json::from_str(&self.lines.next()?.unwrap()).ok()
    }

    /// Reads on up to a turn with this event.
    #[track_caller]
    pub(crate) fn until(&mut self, event: &str) -> Value {
        loop {
            let turn = self.next().unwrap_or_else(|| panic!("no {event} before the end"));
            if events(&turn).contains(&event) {
                return turn;
            }
        }
    }

    /// Kills it with no chance to clean up, and gives what it had printed meanwhile.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.next()).collect();
        self.child.wait().unwrap();
        rest
    }

    /// Its exit code, once it has ended.
    pub(crate) fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// The objects of `--json`: those of the turns, and the summary.
#[track_caller]
pub(crate) fn played(ran: &Ran) -> (Vec<Value>, Value) {
    let lines = ran.text().lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let summary = lines.pop().unwrap_or_else(|| panic!("no output: {}", ran.err));
    assert_eq!(summary["summary"], true, "{}", ran.err);
    (lines, summary)
}

/// The names of the events of a turn.
pub(crate) fn events(turn: &Value) -> Vec<&str> {
    let events = turn["events"].as_array().into_iter().flatten();
    events.map(|event| event["event"].as_str().unwrap()).collect()
}
