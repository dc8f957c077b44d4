//! Units: the pieces of a conversation that are kept or left as a whole.
//!
//! Invariant: a unit's text, behind its mark, is a verbatim slice, a row of fields, a rendered call, or the slices of a
//! question that was answered in a few words, joined; nothing is reworded. Called by whoever makes or
//! reads units.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use epitome_kernel::types::Speaker;

use crate::row_object::RowObject;
use crate::section::TextSection;
use crate::turn_mark::TurnMark;

/// What a unit was cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A sentence.
    Sentence,
    /// A line, or a few short ones, of code, logs or other output.
    Line,
    /// Fields of one object of a JSON text.
    Row,
    /// A tool call, or one field of its arguments.
    Call,
}

/// What is known of a call where it, or its result, is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallName<'a> {
    pub(crate) tool: &'a str,
    /// Its tool, and what tells it from others of that, or the first of what that was told.
    pub(crate) text: String,
    /// What tells it from others of its tool.
    pub(crate) values: Vec<String>,
    /// Whether the same is called again later: then this one leaves before its result does.
    pub(crate) is_repeated: bool,
    /// Whether its tool is called more than once.
    pub(crate) has_likes: bool,
    /// What came of it where it failed.
    pub(crate) failure: Option<FailedCall<'a>>,
}

/// What came of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedCall<'a> {
    /// What its result says of that.
    pub(crate) line: Cow<'a, str>,
    /// Whether nothing else came of it.
    pub(crate) is_refused: bool,
}

impl<'a> CallName<'a> {
    /// One of which an extract that came back tells no more than its name: there are others, or it would
    /// not be named.
    pub(crate) fn retold(text: &'a str) -> Self {
        let tool = text.split(' ').next().unwrap_or_default();
        let (values, failure) = (Vec::new(), None);
        Self { tool, text: text.to_owned(), values, is_repeated: true, has_likes: true, failure }
    }

    /// Whether a piece of it is that which names its tool.
    pub(crate) fn is_head(&self, text: &str) -> bool {
        text.strip_prefix(self.tool).is_some_and(|rest| rest.starts_with('('))
    }
}

/// What is known of a unit that is a row of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRow {
    /// The key of each field and where its value stands in the text.
    pub(crate) fields: Vec<(String, Range<usize>)>,
    /// The object that it is of, where anything names that.
    pub(crate) object: Option<Rc<RowObject>>,
    /// The key that it is below in that, where it is not of its own fields.
    pub(crate) path: Option<Rc<str>>,
}

/// What few units have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnitExtras<'a> {
    row: Option<UnitRow>,
    answer: Option<Box<Cow<'a, str>>>,
}

/// A piece of the conversation. There are as many as lines: what few of them have is boxed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextUnit<'a> {
    /// Who produced it.
    pub(crate) speaker: Speaker,
    /// What it was cut from.
    pub(crate) kind: UnitKind,
    /// Whether no summary is offered it: a client states it, and states it anew where it leaves, or it
    /// never came about. A search finds it.
    pub(crate) withheld: bool,
    /// The entry, by place in the list that was cut.
    pub(crate) entry: u32,
    /// The text.
    pub(crate) text: Cow<'a, str>,
    /// What it stands under in its text.
    pub(crate) section: Option<Rc<TextSection>>,
    /// Who says it and when, where its text says so before it.
    pub(crate) mark: Option<Rc<TurnMark>>,
    /// The call that it is one of, or of whose result it is one.
    pub(crate) call: Option<Rc<CallName<'a>>>,
    /// What few units have.
    pub(crate) extras: Option<Box<UnitExtras<'a>>>,
}

impl<'a> TextUnit<'a> {
    /// One that says nothing but a text, of nobody.
    pub(crate) fn bare(text: Cow<'a, str>) -> Self {
        let (speaker, kind) = (Speaker::Harness, UnitKind::Line);
        Self {
            speaker,
            kind,
            withheld: false,
            entry: 0,
            text,
            section: None,
            mark: None,
            call: None,
            extras: None,
        }
    }

    /// The same of the entry at this place in the list that was cut.
    pub(crate) fn in_entry(self, place: usize) -> Self {
        Self { entry: u32::try_from(place).unwrap_or(u32::MAX), ..self }
    }

    /// The same as a row of fields.
    pub(crate) fn with_row(mut self, row: UnitRow) -> Self {
        self.extras.get_or_insert_default().row = Some(row);
        self
    }

    /// Sets what answered it.
    pub(crate) fn set_answer(&mut self, answer: Cow<'a, str>) {
        self.extras.get_or_insert_default().answer = Some(answer.into());
    }

    /// The entry, by place in the list that was cut.
    pub(crate) fn entry(&self) -> usize {
        self.entry as usize
    }

    /// What it is a row of.
    pub(crate) fn row(&self) -> Option<&UnitRow> {
        self.extras.as_ref()?.row.as_ref()
    }

    /// What answered it and stays and leaves with it: what a person said in a few words, which say
    /// nothing by themselves, or of a call the line that says that it failed.
    pub(crate) fn answer(&self) -> Option<&str> {
        Some(self.extras.as_ref()?.answer.as_ref()?)
    }

    /// All that it says.
    pub(crate) fn said(&self) -> Cow<'_, str> {
        match self.answer() {
            Some(answer) => format!("{}\n{answer}", self.text).into(),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// Who says it and when, where its text says so before it and does not begin with that.
    pub(crate) fn said_by(&self) -> Option<&str> {
        let mark = self.mark.as_ref().map(|mark| mark.as_str());
        mark.filter(|mark| !self.text.starts_with(mark))
    }

    /// Its text behind who says it.
    pub(crate) fn marked(&self) -> Cow<'_, str> {
        match self.said_by() {
            Some(mark) => format!("{mark} {}", self.text).into(),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// Whether another is of the same turn of a text, or both of none.
    pub(crate) fn is_same_turn(&self, other: &Self) -> bool {
        match (&self.mark, &other.mark) {
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// All that it says, and of what: two rows with the same fields may be of two objects, two equal
    /// sentences of two people.
    pub(crate) fn told(&self) -> Cow<'_, str> {
        if let Some(mark) = self.said_by() {
            return format!("{mark} {}", self.said()).into();
        }
        if self.object().is_none() && self.path().is_none() {
            return self.said();
        }
        let objects: String = self.objects().iter().map(|it| it.name() + "; ").collect();
        format!("{objects}{}: {}", self.path().unwrap_or_default(), self.said()).into()
    }

    /// The key of each field of a row and where its value stands in the text.
    pub(crate) fn fields(&self) -> &[(String, Range<usize>)] {
        self.row().map_or(&[], |row| &row.fields)
    }

    /// The object that it is a row of, where anything names that.
    pub(crate) fn object(&self) -> Option<&Rc<RowObject>> {
        self.row()?.object.as_ref()
    }

    /// The key that it is below in its object.
    pub(crate) fn path(&self) -> Option<&str> {
        self.row()?.path.as_deref()
    }

    /// The named objects that it is in, the outermost first.
    pub(crate) fn objects(&self) -> Vec<&Rc<RowObject>> {
        let mut objects: Vec<_> =
            std::iter::successors(self.object(), |it| it.outer.as_ref()).collect();
        objects.reverse();
        objects
    }

    /// Whether it is a sentence of one who talks, a person or a model.
    pub(crate) fn is_of_talk(&self) -> bool {
        self.kind == UnitKind::Sentence && matches!(self.speaker, Speaker::Human | Speaker::Model)
    }

    /// Whether it is a sentence of a person.
    pub(crate) fn is_spoken(&self) -> bool {
        self.speaker == Speaker::Human && self.kind == UnitKind::Sentence
    }
}
