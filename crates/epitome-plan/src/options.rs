//! What a caller decides about a compression.
//!
//! Invariant: no number and no wording in here has a default; profiles supply them.

use epitome_kernel::types::{
    Checkpoint, CheckpointPlacement, ContentId, EntryId, PartId, SummaryStyle,
};
use epitome_kernel::{SizeGauge, TextMeasure, Thread};

use crate::cut::fill;

/// How one conversation is compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressOptions {
    /// The share of the room that is not pinned which the newest real messages fill, 0 to 1.
    pub keep_recent_share: f64,
    /// By how much of that share they may be more or less, so that the oldest exchange of them
    /// stays or leaves whole, 0 to 1.
    pub keep_recent_slack: f64,
    /// The share of that room up to which the newest results stay whole where they came behind what a
    /// person typed last, 0 to 1; older messages leave for that.
    pub newest_results_share: f64,
    /// The number of newest messages to leave alone, in place of the share.
    pub keep_recent_messages: Option<usize>,
    /// The share of the prompt below which a compression counts as stalled (RULES 8).
    pub minimum_gain: f64,
    /// The least room, in tokens, that a text of the recent part is shortened to by a digest;
    /// where there is less, it leaves with its exchange or its beginning and its end stay.
    pub digest_tokens: u64,
    /// How a summary is worded.
    pub style: SummaryStyle,
    /// Whether the texts that leave are wanted: together they are as large as the conversation.
    pub originals: bool,
    /// Whether the pieces that leave are wanted for search.
    pub passages: bool,
    /// The largest piece the kernel itself cuts for search, in bytes.
    pub passage_bytes: usize,
    /// What is tried, in this order, when a summary does not fit (RULES 12). The last resort, a
    /// view without a checkpoint, needs not be named.
    pub ladder: Vec<LadderRung>,
    /// The texts the kernel writes.
    pub texts: KernelTexts,
    /// The state of the work, which the plan puts behind what it takes out: goals, plan, rules.
    pub state: Option<String>,
    /// What people demanded: stated with it, as far as the messages that say it leave.
    pub demands: ConstraintState,
    /// Where checkpoints stand, and who says them.
    pub stand: CheckpointPlacement,
    /// Whether the model binds what it thought to the prompt before it: reasoning behind a change
    /// leaves with it (RULES 139 and 140).
    pub unbind: bool,
    /// The calls of which all that they wrote is on disk.
    pub inputs: Vec<PartId>,
    /// What the request takes beside its messages.
    pub envelope: RequestEnvelope,
    /// The policy that answers for the plan, for the report.
    pub policy: String,
    /// The hook that asked for it, for the report.
    pub hook: String,
}

/// What people demanded in a conversation, and how it is stated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstraintState {
    /// In the order of the conversation.
    pub all: Vec<StatedConstraint>,
    /// Opens them where nothing else is stated of the work.
    pub label: String,
    /// Stands over them.
    pub heading: String,
    /// The most that they take of the room beside what cannot shrink, 0 to 1.
    pub share: f64,
    /// A budget gives way for them up to this, in tokens.
    pub most: u64,
    /// Where a budget is less than this, in tokens, no plan leaves any of them out.
    pub whole_below: u64,
    /// What the profile keeps, beside what people demanded.
    pub kept: KeptStatement,
}

/// The lines that a profile keeps, and how they are stated where their text is not sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptStatement {
    /// In the order of the conversation; where there is no room for all, the newest stay.
    pub lines: Vec<StatedLine>,
    /// Stands over them.
    pub heading: String,
    /// The most that they take of the room beside what cannot shrink and what people demanded, 0
    /// to 1.
    pub share: f64,
    /// The size of a whole prompt, in tokens, up to which they may fill it, where they could fill so
    /// much that the next compression would be due at once. What has no room below is left out.
    pub fills: Option<u64>,
}

/// A line that a profile keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedLine {
    /// The part that says it.
    pub part: PartId,
    /// The line, word for word.
    pub text: String,
    /// Whether the part says it as it is sent.
    pub sent: bool,
}

/// A sentence in which a person demands something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedConstraint {
    /// The message that says it.
    pub entry: EntryId,
    /// The sentence, word for word.
    pub text: String,
    /// The lower, the longer it stays where there is no room for all.
    pub rank: usize,
}

/// One rung of the emergency ladder (RULES 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LadderRung {
    /// Cuts the tool results of the recent part, all but those of the newest exchange.
    Results,
    /// Truncates the arguments of the recent part whose content is on disk, all but those of the
    /// newest exchange; without a workspace nothing is.
    Inputs,
    /// Puts one line in the place of each tool exchange of the recent part but the newest.
    Stubs,
    /// Words the checkpoint, which takes the place of those before it, a level lower and in short
    /// prose: it needs less room.
    Lower,
    /// Merges into it what stood as lines of their own: the stubs of the recent part.
    Merge,
    /// Cuts the user messages of the recent part.
    FoldUser,
    /// Writes the checkpoint without a summariser, one line for each message that left.
    Chunks,
    /// Keeps half of the recent part, then a quarter, then none.
    SmallerTail,
}

/// The wording of what the kernel inserts. It names a way back only where there is one (RULES 119).
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTexts {
    /// Opens a checkpoint; `{id}` and `{messages}` are filled in.
    pub label: String,
    /// Opens it where `label` would take more than `label_share` of the checkpoint's room.
    pub label_short: String,
    /// The share of a checkpoint's room that its label may take, 0 to 1.
    pub label_share: f64,
    /// Stands where a text was shortened; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub marker: String,
    /// Stands for a tool exchange; `{call}`, `{tokens}` and `{id}` are filled in.
    pub stub: String,
    /// The most characters that one line quotes from a message.
    pub line_chars: usize,
}

/// How long the beginning of a text is (bytes) that says what a label says, whatever the numbers.
fn length_alike(text: &str, label: &str) -> Option<usize> {
    let (mut rest, mut label) = (text, label);
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    while let Some(wanted) = label.chars().next() {
        let is_number = wanted.is_ascii_digit();
        let [there, own] = match is_number {
            true => [digits(rest), digits(label)],
            false => [wanted.len_utf8(); 2],
        };
        let is_alike = if is_number { there > 0 } else { rest.starts_with(wanted) };
        if !is_alike {
            return None;
        }
        (rest, label) = (&rest[there..], &label[own..]);
    }
    Some(text.len() - rest.len())
}

impl KernelTexts {
    /// The line that opens a checkpoint, and the words behind it; `None` where it is opened by
    /// another one. A clock or a count in it may say something else by now.
    pub fn parted<'c>(&self, checkpoint: &'c Checkpoint) -> Option<(&'c str, &'c str)> {
        let messages = checkpoint.covers.len().to_string();
        let values = [("id", &*checkpoint.id.short()), ("messages", &messages)];
        [&self.label, &self.label_short].into_iter().find_map(|label| {
            let label = fill(label, &values) + "\n";
            let length = length_alike(&checkpoint.text, &label)?;
            Some(checkpoint.text.split_at(length))
        })
    }

    /// The line that opens a checkpoint of so many messages, where it may take `room`.
    pub(crate) fn opening(
        &self,
        id: ContentId,
        messages: usize,
        room: u64,
        gauge: &SizeGauge<'_>,
    ) -> String {
        let values = [("id", &*id.short()), ("messages", &messages.to_string())];
        let label = fill(&self.label, &values) + "\n";
        if gauge.size(&label) as f64 <= room as f64 * self.label_share {
            return label;
        }
        fill(&self.label_short, &values) + "\n"
    }
}

/// What a request takes beside its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestEnvelope {
    /// Tokens of the tool schemas, and of what its messages say and do not show.
    pub tokens: u64,
    /// Characters of what its messages say and do not show.
    pub chars: u64,
    /// Bytes of everything around the messages.
    pub bytes: u64,
}

/// The place of the first of so many of the newest messages, or of what belongs to one exchange with
/// it; behind all of them where none is to be left alone.
pub fn newest_from(thread: &Thread, messages: Option<usize>) -> usize {
    let count = thread.entries().len();
    let oldest = count.saturating_sub(messages.unwrap_or(0));
    let holds = thread.exchanges().iter().find(|one| one.entries.end > oldest);
    holds.map_or(count, |exchange| exchange.entries.start)
}
