//! The weights of the selection, in one place.
//!
//! Invariant: every number that steers what is kept stands here and nowhere else. They were found
//! by search over recorded conversations, on the share of later needed references and of answerable
//! questions; most of them may be doubled or halved without much effect.

/// Weights of the selection for one kind of conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectionWeights {
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
    /// The share of the room that a person has at least, and whoever that person talks with, as far as they
    /// said so much.
    pub floor: f64,
    /// Gain of a sentence that tells the model what to do or not to do.
    pub direct: f64,
    /// Gain of a sentence in which a person orders, forbids or wishes something.
    pub directive: f64,
    /// Gain of a sentence with a word that orders often hold.
    pub faint: f64,
    /// Gain of a sentence of the first message of a person, which as a rule is the task, and of one that
    /// says what is otherwise since.
    pub opening: f64,
    /// In messages of more pieces than this each such counts less, the more the longer they are.
    pub opening_spread: f64,
    /// Gain of any sentence that a person typed.
    pub typed: f64,
    /// In messages of more pieces than this an order counts less, the more the longer they are.
    pub directive_spread: f64,
    /// How sentences weigh by who says them and how, in conversations without tools.
    pub talk: Option<TalkWeights>,
}

/// Weights of what is said in a conversation, by who says it.
#[derive(Clone, Debug, PartialEq)]
pub struct TalkWeights {
    /// Of one who tells of themselves.
    pub teller: TellingWeights,
    /// Of one who answers and advises.
    pub adviser: TellingWeights,
}

/// By how much a sentence weighs more or less for what it shows of whether it is asked for later.
#[derive(Clone, Debug, PartialEq)]
pub struct TellingWeights {
    /// Factor for all that is said.
    pub unit: f64,
    /// Extra weight where a neighbour in the same message was chosen.
    pub near: f64,
    /// Factor where it speaks of what is the speaker's.
    pub mine: f64,
    /// Factor where it says what the speaker did or how it was.
    pub past: f64,
    /// Factor where it says when.
    pub when: f64,
    /// Factor where it holds a digit.
    pub amount: f64,
    /// Factor where it says what something is called or known for, or what somebody likes best.
    pub named: f64,
    /// Factor where it holds a short quotation.
    pub title: f64,
    /// Factor where it asks.
    pub asks: f64,
    /// Factor where it is called out.
    pub exclaims: f64,
    /// Factor where it says what could, might or should be.
    pub guesses: f64,
    /// Factor where it speaks to whoever reads it.
    pub you: f64,
}

impl TalkWeights {
    /// Found on recorded conversations with questions: how often a sentence with each of these holds the
    /// answer to one, for its length. An answer is read as a whole, so its sentences go together.
    pub const CHAT: Self = Self {
        teller: TellingWeights {
            unit: 2.5,
            near: 1.0,
            mine: 1.4,
            past: 1.5,
            when: 1.5,
            amount: 1.6,
            named: 2.0,
            title: 1.0,
            asks: 0.8,
            exclaims: 0.7,
            guesses: 0.5,
            you: 0.7,
        },
        adviser: TellingWeights {
            unit: 1.0,
            near: 3.0,
            mine: 1.2,
            past: 1.0,
            when: 1.0,
            amount: 0.7,
            named: 2.0,
            title: 3.0,
            asks: 0.7,
            exclaims: 0.5,
            guesses: 1.0,
            you: 0.9,
        },
    };
}

impl SelectionWeights {
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
        bare: 0.5,
        empty: 0.05,
        floor: 0.0,
        direct: 120.0,
        directive: 120.0,
        faint: 30.0,
        opening: 10.0,
        opening_spread: 3.0,
        typed: 1.5,
        directive_spread: 1000.0,
        talk: None,
    };

    /// For conversations without: words count, and who speaks.
    pub const CHAT: Self = Self {
        cost_power: 0.8,
        reference: 8.0,
        number: 16.0,
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
        floor: 0.05,
        direct: 60.0,
        directive: 5.0,
        faint: 5.0,
        opening: 0.0,
        opening_spread: 1.0,
        typed: 0.0,
        directive_spread: 2.0,
        talk: Some(TalkWeights::CHAT),
    };
}
