//! The weights of the selection, in one place.
//!
//! Invariant: every number that steers what is kept stands here and nowhere else. They were found
//! by search over recorded conversations, on the share of later needed references and of answerable
//! questions; most of them may be doubled or halved without much effect.

/// Weights of the selection for one kind of conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Gain is divided by cost to this power.
    pub cost_power: f64,
    /// Weight of a reference that is neither a short number nor a name.
    pub reference: f64,
    /// Weight of a short number.
    pub number: f64,
    /// Weight of a capitalised name.
    pub name: f64,
    /// What a reference is still worth after it was said once.
    pub repeat: f64,
    /// Weight of a plain word per unit of its rarity.
    pub word: f64,
    /// What a plain word is still worth after it was said once.
    pub word_repeat: f64,
    /// Whether the words inside references count as words too.
    pub words_of_references: bool,
    /// Extra weight per natural logarithm of the entries that mention a reference.
    pub mentions: f64,
    /// Factor where the model wrote the reference.
    pub by_model: f64,
    /// Factor where it stands in a call's arguments.
    pub in_call: f64,
    /// Factor where a person wrote it.
    pub by_human: f64,
    /// Factor for dates.
    pub date: f64,
    /// Factor for references that stand only as keys of fields.
    pub as_key: f64,
    /// Factor of every field, whatever its key.
    pub key_floor: f64,
    /// Expected weight of keys that name something, before any of their values came back.
    pub key_naming: f64,
    /// The same for keys that describe something.
    pub key_describing: f64,
    /// The same for all other keys.
    pub key_other: f64,
    /// How many values of a key weigh as much as what is expected of it.
    pub key_trust: f64,
    /// Extra weight of the newest references.
    pub recency: f64,
    /// Share of the conversation over which that fades.
    pub recency_share: f64,
    /// Factor for what the rest of the prompt holds already.
    pub kept: f64,
    /// Power of the number of references in the same entry by which a reference is discounted.
    pub crowd: f64,
    /// Factor for units with references and hardly a plain word.
    pub bare: f64,
    /// Factor for units with neither.
    pub empty: f64,
    /// Factor for units that a person wrote.
    pub human_unit: f64,
    /// Gain of a sentence that tells the model what to do or not to do.
    pub direct: f64,
    /// Gain of a sentence in which a person orders, forbids or wishes something.
    pub directive: f64,
    /// Gain of a sentence with a word that orders often hold.
    pub faint: f64,
    /// Gain of any sentence that a person typed.
    pub typed: f64,
    /// In messages of more pieces than this an order counts less, the more the longer they are.
    pub directive_spread: f64,
    /// Extra weight of a unit whose neighbour was chosen.
    pub near: f64,
}

impl Tuning {
    /// For conversations with tools: references lead.
    pub const AGENT: Self = Self {
        cost_power: 0.8,
        reference: 1.6,
        number: 0.03,
        name: 0.006,
        repeat: 0.03,
        word: 0.006,
        word_repeat: 0.5,
        words_of_references: false,
        mentions: 0.5,
        by_model: 3.0,
        in_call: 0.8,
        by_human: 0.3,
        date: 0.2,
        as_key: 1.0,
        key_floor: 1.2,
        key_naming: 1.5,
        key_describing: 0.05,
        key_other: 0.2,
        key_trust: 8.0,
        recency: 3.0,
        recency_share: 0.9,
        kept: 0.05,
        crowd: 0.015,
        bare: 0.4,
        empty: 0.05,
        human_unit: 1.0,
        direct: 120.0,
        directive: 120.0,
        faint: 30.0,
        typed: 1.5,
        directive_spread: 1000.0,
        near: 0.0,
    };

    /// For conversations without: words count, and who speaks.
    pub const CHAT: Self = Self {
        cost_power: 0.9,
        reference: 11.0,
        number: 6.25,
        name: 6.25,
        repeat: 0.6,
        word: 1.0,
        word_repeat: 0.7,
        words_of_references: true,
        mentions: 0.0,
        by_model: 1.0,
        in_call: 1.0,
        by_human: 1.0,
        date: 1.0,
        as_key: 1.0,
        key_floor: 0.4,
        key_naming: 0.35,
        key_describing: 0.05,
        key_other: 0.2,
        key_trust: 3.0,
        recency: 0.42,
        recency_share: 0.1,
        kept: 0.5,
        crowd: 0.02,
        bare: 1.0,
        empty: 0.05,
        human_unit: 3.0,
        direct: 60.0,
        directive: 20.0,
        faint: 5.0,
        typed: 0.0,
        directive_spread: 2.0,
        near: 0.3,
    };
}

/// What decides how a tool result is made smaller: found by trying it on recorded results.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    /// What is like something said is said too up to this share of the text.
    pub enough_share: f64,
    /// But at least up to this size.
    pub enough_least: u64,
    /// And at most up to this one.
    pub enough_most: u64,
    /// A table has at least this many rows.
    pub rows_least: usize,
    /// It makes up at least this share of the text.
    pub table_share: f64,
    /// At least this share of its cells is filled.
    pub filled_share: f64,
    /// It has at most this many columns.
    pub columns_most: usize,
    /// Objects in objects become columns down to this depth.
    pub column_depth: usize,
    /// Where rows are left out, a cell has at most about this many bytes.
    pub cell: usize,
    /// What surrounds a table takes at most this many bytes.
    pub around_most: usize,
    /// Rows that are always wanted: the first of a table.
    pub rows_first: usize,
    /// The same for the last.
    pub rows_last: usize,
    /// The values of a column are counted where there are at most this many.
    pub values_few: usize,
    /// And where each stands, on average, in at least this many rows.
    pub value_repeat: usize,
    /// A counted value in less than this share of the rows makes a row stand out.
    pub rare_share: f64,
    /// A failure does where at most this share of the rows tells of one.
    pub odd_share: f64,
    /// How other JSON is shortened, from the longest to the shortest.
    pub short: Vec<Short>,
    /// A log or a search has at least this many lines.
    pub lines_least: usize,
    /// A line has at most about this many bytes.
    pub line: usize,
    /// Lines of a log that are always wanted: the first.
    pub lines_first: usize,
    /// The same for the last.
    pub lines_last: usize,
    /// Of a kind with this many lines, only the outermost are wanted for where they stand.
    pub common: u32,
    /// Failures of one kind that are wanted.
    pub failures: u32,
    /// Lines before a failure that go with it.
    pub before_failure: usize,
    /// Lines behind a failure that go with it, and as many more as are set in.
    pub after_failure: usize,
    /// Lines that begin with the same two words are of one kind where there are this many.
    pub beginnings: u32,
    /// A log has at most this many kinds of lines per line.
    pub kinds_share: f64,
    /// Or tells of a failure in at least this share of them.
    pub failed_share: f64,
    /// At least this share of the lines says when or how bad.
    pub stamped_share: f64,
    /// At least this share of the lines of a search are hits.
    pub hits_share: f64,
    /// From this share of the lines on that only code has, a text is code.
    pub code_share: f64,
    /// Texts of more bytes are not weighed sentence by sentence.
    pub weighed_most: usize,
}

/// How much of a JSON text is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Short {
    /// Bytes of a string, about.
    pub string: usize,
    /// Values of a list.
    pub values: usize,
    /// Fields of an object.
    pub keys: usize,
    /// How deep values stand in one another.
    pub depth: usize,
}

impl Default for Shapes {
    fn default() -> Self {
        let short = |string, values, keys, depth| Short { string, values, keys, depth };
        Self {
            enough_share: 0.2,
            enough_least: 300,
            enough_most: 500,
            rows_least: 3,
            table_share: 0.5,
            filled_share: 0.5,
            columns_most: 60,
            column_depth: 3,
            cell: 120,
            around_most: 2000,
            rows_first: 3,
            rows_last: 2,
            values_few: 8,
            value_repeat: 4,
            rare_share: 0.05,
            odd_share: 0.34,
            short: vec![
                short(usize::MAX, usize::MAX, usize::MAX, 64),
                short(1000, 100, 400, 24),
                short(300, 40, 200, 16),
                short(160, 16, 100, 12),
                short(100, 8, 60, 10),
                short(80, 4, 40, 8),
                short(60, 2, 20, 6),
                short(60, 2, 12, 3),
            ],
            lines_least: 12,
            line: 400,
            lines_first: 3,
            lines_last: 6,
            common: 8,
            failures: 20,
            before_failure: 2,
            after_failure: 4,
            beginnings: 4,
            kinds_share: 0.5,
            failed_share: 0.2,
            stamped_share: 0.3,
            hits_share: 0.8,
            code_share: 0.3,
            weighed_most: 400_000,
        }
    }
}

impl Shapes {
    /// From which size on the digest of a text of this size says no more of what is like what it
    /// said.
    pub(crate) fn enough(&self, size: u64) -> u64 {
        ((size as f64 * self.enough_share) as u64).clamp(self.enough_least, self.enough_most)
    }
}
