//! What people demanded and what the profile keeps, stated word for word where its message is no
//! longer sent as it was said.
//!
//! Invariant: what is stated takes no more than the room that it is given, each demand and each line
//! stands in it whole or not at all, and one that its message still says is not said twice. Called
//! when a plan is drafted and when it is put together.

use std::collections::BTreeSet;

use epitome_kernel::{SizeGauge, TextMeasure, Thread};

use crate::kept::UnsentTexts;
use crate::options::{CompressOptions, ConstraintState, StatedConstraint, StatedLine};

/// The state of the work as a plan states it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkStatement {
    pub(crate) text: Option<String>,
    /// How many demands and lines are left out.
    pub(crate) without: usize,
    /// The lines of the profile among them, oldest first.
    pub(crate) unkept: Vec<String>,
    /// How many lines of the profile it states.
    pub(crate) lines: usize,
}

/// The room of what is stated word for word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StatementRoom {
    demands: u64,
    lines: u64,
}

impl StatementRoom {
    pub(crate) fn total(self) -> u64 {
        self.demands + self.lines
    }
}

/// The demands of a compression, measured.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredConstraints<'a> {
    pub(crate) thread: &'a Thread,
    pub(crate) options: &'a CompressOptions,
    /// In the unit of the budget.
    pub(crate) gauge: &'a SizeGauge<'a>,
}

impl MeasuredConstraints<'_> {
    /// What it takes to state all that a plan may take out.
    fn need(&self) -> u64 {
        let free = |one: &&StatedConstraint| {
            self.thread.pinned(one.entry).is_none() || self.is_unshown(one)
        };
        let lines = self.options.demands.all.iter().filter(free).map(|one| self.size(one));
        match lines.sum() {
            0 => 0,
            lines => self.head() + lines,
        }
    }

    /// The same of the lines that the profile keeps.
    fn need_of_lines(&self) -> u64 {
        let kept = &self.options.demands.kept;
        let free = |line: &&StatedLine| {
            self.thread.pinned(line.part.entry).is_none() || !line.sent || self.is_before(line)
        };
        let lines = kept.lines.iter().filter(free).map(|line| self.size_of_line(line));
        match lines.sum() {
            0 => 0,
            lines => self.head_of_lines() + lines,
        }
    }

    /// What they may take within a budget; `floor` is what cannot shrink beside the state.
    pub(crate) fn room(&self, most: u64, floor: impl FnOnce() -> u64) -> StatementRoom {
        let (demands, lines) = (self.need(), self.need_of_lines());
        if demands + lines == 0 {
            return StatementRoom::default();
        }
        let ConstraintState { share, ref kept, .. } = self.options.demands;
        let taken = floor() + self.rest();
        let free = most.saturating_sub(taken);
        let demands = demands.min((free as f64 * share) as u64);
        let filled = kept.fills.map_or(free, |fills| free.min(fills.saturating_sub(taken)));
        let lines = lines.min((filled.saturating_sub(demands) as f64 * kept.share) as u64);
        StatementRoom { demands, lines }
    }

    /// The same room where all but the state comes to so many tokens: what lines take beside that ends
    /// where they may fill a prompt to.
    pub(crate) fn beside(&self, room: StatementRoom, taken: impl FnOnce() -> u64) -> StatementRoom {
        match self.options.demands.kept.fills {
            Some(fills) if room.lines > 0 => {
                let left = fills.saturating_sub(taken() + self.rest() + room.demands);
                StatementRoom { lines: room.lines.min(left), ..room }
            }
            _ => room,
        }
    }

    /// What more lines would take that are not stated in `room` since all else comes to so many tokens.
    pub(crate) fn crowded_out(
        &self,
        unsent: &UnsentTexts,
        room: StatementRoom,
        taken: impl FnOnce() -> u64,
    ) -> u64 {
        let size = |lines: u64| -> u64 {
            let (stated, _) = self.kept(unsent, lines);
            stated.into_iter().map(|text| self.gauge.size(text) + self.gauge.size("\n")).sum()
        };
        size(room.lines).saturating_sub(size(self.beside(room, taken).lines))
    }

    /// The least budget in which all of them may be stated, as far as budgets give way for them.
    pub(crate) fn budget(&self, floor: impl FnOnce() -> u64) -> u64 {
        let ConstraintState { share, most, ref kept, .. } = self.options.demands;
        let room = |need: u64, share: f64| match need > 0 && share > 0.0 {
            true => (need as f64 / share).ceil() as u64,
            false => 0,
        };
        let demands = self.need();
        let lines = room(self.need_of_lines(), kept.share);
        let (demanded, lines) = (room(demands, share), if lines > 0 { demands + lines } else { 0 });
        if demanded + lines == 0 {
            return 0;
        }
        let taken = floor() + self.rest();
        let filled = kept.fills.map_or(most, |fills| fills.min(most));
        (taken + demanded).min(most).max((taken + lines).min(filled))
    }

    /// What the rest of the state takes.
    pub(crate) fn rest(&self) -> u64 {
        self.options.state.as_deref().map_or(0, |text| self.gauge.message(text))
    }

    /// The state of the work, with what was demanded or is to be kept in the texts that are not sent,
    /// as much of it as `room` takes.
    pub(crate) fn state(&self, unsent: &UnsentTexts, room: StatementRoom) -> WorkStatement {
        let state = self.options.state.as_deref();
        let (demands, missing) = self.demanded(unsent, room.demands);
        let (kept, unkept) = self.kept(unsent, room.lines);
        let (without, lines) = (missing + unkept.len(), kept.len());
        if demands.is_empty() && kept.is_empty() {
            return WorkStatement { text: state.map(ToOwned::to_owned), without, unkept, lines };
        }
        let text = self.opening(state) + demands.trim_end();
        let text = match kept.is_empty() {
            true => text,
            false => {
                let gap = if demands.is_empty() { "" } else { "\n\n" };
                format!("{text}{gap}{}\n{}", self.options.demands.kept.heading, kept.join("\n"))
            }
        };
        WorkStatement { text: Some(text), without, unkept, lines }
    }

    /// What is stated of what people demanded, and how much of it is left out.
    fn demanded(&self, unsent: &UnsentTexts, room: u64) -> (String, usize) {
        let demands = &self.options.demands;
        let is_wanted = |one: &&StatedConstraint| unsent.lacks(one) || self.is_unshown(one);
        let mut wanted: Vec<_> = demands.all.iter().filter(is_wanted).collect();
        wanted.sort_by_key(|one| one.rank);
        let mut left = room.saturating_sub(self.head());
        let mut fits = |one: &&StatedConstraint| {
            let rest = left.checked_sub(self.size(one));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let (taken, left): (Vec<_>, Vec<_>) = wanted.into_iter().partition(&mut fits);
        let taken: BTreeSet<_> = taken.into_iter().map(|one| one.rank).collect();
        // What its provider took away is no loss of ours.
        let without = left.iter().filter(|one| !self.is_unshown(one)).count();
        if taken.is_empty() {
            return (String::new(), without);
        }
        let lines = demands.all.iter().filter(|one| taken.contains(&one.rank)).map(line);
        let lines: String = lines.collect();
        (format!("{}:\n{lines}", demands.heading), without)
    }

    /// The lines of the profile that are stated, and those that there is no room for.
    fn kept(&self, unsent: &UnsentTexts, room: u64) -> (Vec<&str>, Vec<String>) {
        let kept = &self.options.demands.kept;
        let is_wanted = |line: &&StatedLine| unsent.lacks_line(line) || self.is_before(line);
        let wanted = kept.lines.iter().filter(is_wanted);
        let mut left = room.saturating_sub(self.head_of_lines());
        let (mut taken, mut unkept) = (Vec::new(), Vec::new());
        for line in wanted.rev() {
            match left.checked_sub(self.size_of_line(line)) {
                Some(rest) => {
                    left = rest;
                    taken.push(&*line.text);
                }
                // What its provider took away is no loss of ours.
                None if self.is_before(line) => {}
                None => unkept.push(line.text.clone()),
            }
        }
        unkept.reverse();
        taken.reverse();
        (taken, unkept)
    }

    /// Whether a plan within a budget may state the work like this.
    pub(crate) fn allows(&self, state: &WorkStatement, most: u64) -> bool {
        state.without == 0 || most >= self.options.demands.whole_below
    }

    /// Whether the message that demands it stands before what the provider made of the conversation:
    /// nobody knows whether that says it.
    fn is_unshown(&self, one: &StatedConstraint) -> bool {
        one.entry.index() < self.thread.shown_from()
    }

    /// The same of the text that says a line.
    fn is_before(&self, line: &StatedLine) -> bool {
        line.part.entry.index() < self.thread.shown_from()
    }

    /// What stands before what is stated word for word.
    fn opening(&self, state: Option<&str>) -> String {
        let label = &self.options.demands.label;
        state.map_or_else(|| format!("{label}\n"), |state| format!("{state}\n\n"))
    }

    fn head(&self) -> u64 {
        self.head_of(&format!("{}:\n", self.options.demands.heading))
    }

    fn head_of_lines(&self) -> u64 {
        self.head_of(&format!("{}\n\n\n", self.options.demands.kept.heading))
    }

    fn head_of(&self, heading: &str) -> u64 {
        match &self.options.state {
            Some(_) => self.gauge.size(&(self.opening(Some("")) + heading)),
            None => self.gauge.message(&(self.opening(None) + heading)),
        }
    }

    fn size_of_line(&self, line: &StatedLine) -> u64 {
        self.gauge.size(&line.text) + self.gauge.size("\n")
    }

    fn size(&self, one: &StatedConstraint) -> u64 {
        self.gauge.size(&line(one))
    }
}

fn line(one: &StatedConstraint) -> String {
    format!("- {}\n", one.text)
}
