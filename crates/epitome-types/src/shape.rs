//! What a value looks like: what editor stubs, references, schemas and checks are made from.
//!
//! Invariant: a shape follows from the declaration of the type it belongs to, which is the only one
//! there is (RULES 71). Read by whoever hands jobs to scripts and takes answers back.

use std::collections::BTreeMap;

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueShape {
    /// `true` or `false`.
    Bool,
    /// A whole number from 0 up.
    Integer,
    /// Any number.
    Number,
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Values of one shape in order.
    List(&'static ValueShape),
    /// Texts, each with a value of one shape.
    Map(&'static ValueShape),
    /// Named fields.
    Table(&'static TableShape),
    /// The shape, or nothing.
    Optional(&'static ValueShape),
    /// Any of these shapes.
    Either(&'static [ValueShape]),
    /// One of several tables, told apart by the word in one of their fields.
    Tagged {
        /// What such a table is called, for stubs and references.
        name: &'static str,
        /// The field that holds the word.
        tag: &'static str,
        /// The tables, each by its word.
        variants: &'static [(&'static str, &'static TableShape)],
    },
    /// Whatever a script makes of it.
    Any,
}

/// A table with named fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableShape {
    /// Its name, for stubs and references.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields, in order.
    pub fields: &'static [FieldShape],
}

/// A field of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldShape {
    /// Its name.
    pub name: &'static str,
    /// What it holds, with its unit.
    pub doc: &'static str,
    /// What its value looks like.
    pub shape: ValueShape,
}

impl TableShape {
    /// All fields, those of the tables whose fields stand in this one too ([`Common`]) included.
    ///
    /// [`Common`]: crate::hook::Common
    pub fn all_fields(&self) -> impl Iterator<Item = &'static FieldShape> {
        let every = self.fields.iter().filter(|field| field.name == INLINE);
        let every = every.filter_map(|field| match field.shape {
            ValueShape::Table(inner) => Some(inner.own_fields()),
            _ => None,
        });
        every.flatten().chain(self.own_fields())
    }

    /// Its fields without those that every job has.
    pub fn own_fields(&self) -> impl Iterator<Item = &'static FieldShape> {
        self.fields.iter().filter(|field| field.name != INLINE).flat_map(|field| {
            match (field.name, field.shape) {
                (SPREAD, ValueShape::Table(inner)) => inner.fields.iter(),
                _ => std::slice::from_ref(field).iter(),
            }
        })
    }
}

/// The name of the field of a job whose own fields every job has.
pub const INLINE: &str = "common";

/// The name of a field whose own fields stand in its place.
const SPREAD: &str = "talk";

/// A type whose values have a shape.
pub trait HasShape {
    /// The shape.
    const SHAPE: ValueShape;
}

/// A type whose values are tables.
pub trait HasTableShape {
    /// The table.
    const TABLE: &'static TableShape;
}

macro_rules! plain {
    ($($type:ty => $shape:ident),+ $(,)?) => {
        $(impl HasShape for $type {
            const SHAPE: ValueShape = ValueShape::$shape;
        })+
    };
}

plain! { bool => Bool, u8 => Integer, u32 => Integer, u64 => Integer, usize => Integer, f64 => Number, String => Text, &str => Text }

impl<T: HasShape> HasShape for Option<T> {
    const SHAPE: ValueShape = ValueShape::Optional(&T::SHAPE);
}

impl<T: HasShape> HasShape for Vec<T> {
    const SHAPE: ValueShape = ValueShape::List(&T::SHAPE);
}

impl<T: HasShape> HasShape for BTreeMap<String, T> {
    const SHAPE: ValueShape = ValueShape::Map(&T::SHAPE);
}

/// Declares a table: the struct, and from its fields and their docs the shape.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:ident),+)])?
        pub struct $name:ident $(<$life:lifetime>)? {
            $(
                $(#[doc = $field_doc:literal])+
                $(#[serde($($serde:tt)+)])?
                pub $field:ident: $type:ty,
            )*
        }
        $(beside {
            $(
                $(#[doc = $beside_doc:literal])+
                pub $beside:ident: $beside_type:ty,
            )*
        })?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, serde::Serialize $($(, $derive)+)?)]
        pub struct $name $(<$life>)? {
            $(
                $(#[doc = $field_doc])+
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )*
            $($(
                $(#[doc = $beside_doc])+
                #[serde(skip)]
                pub $beside: $beside_type,
            )*)?
        }

        impl $(<$life>)? $crate::shape::HasTableShape for $name $(<$life>)? {
            const TABLE: &'static $crate::shape::TableShape = &$crate::shape::TableShape {
                name: stringify!($name),
                doc: concat!($($doc),+),
                fields: &[$($crate::shape::FieldShape {
                    name: stringify!($field),
                    doc: concat!($($field_doc),+),
                    shape: <$type as $crate::shape::HasShape>::SHAPE,
                }),*],
            };
        }

        impl $(<$life>)? $crate::shape::HasShape for $name $(<$life>)? {
            const SHAPE: $crate::shape::ValueShape =
                $crate::shape::ValueShape::Table(<Self as $crate::shape::HasTableShape>::TABLE);
        }
    };
}

/// Declares a choice of words: the enum, and from its variants the shape.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $($(#[doc = $word_doc:literal])+ $word:ident = $text:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $word_doc])+ #[serde(rename = $text)] $word,)+
        }

        impl $name {
            /// The word that it is written as.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)+
                }
            }

            /// What is written as this word.
            pub fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$word),)+
                    _ => None,
                }
            }
        }

        impl $crate::shape::HasShape for $name {
            const SHAPE: $crate::shape::ValueShape = $crate::shape::ValueShape::Word(&[$($text),+]);
        }
    };
}

pub(crate) use {table, words};
