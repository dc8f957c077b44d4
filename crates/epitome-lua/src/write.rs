//! From data to Lua values.
//!
//! Invariant: what is not there is `nil`; lists are made in one step, so that a job with columns of
//! hundreds of messages costs little. Called with jobs, options, memos and answers of others.

use std::cell::{Cell, RefCell};

use mlua::serde::{SerializeOptions, Serializer as Plain};
use mlua::{Error, Lua, LuaString, Result, Table, Value};
use serde::Serialize;
use serde::ser;

const OPTIONS: SerializeOptions = SerializeOptions::new()
    .set_array_metatable(false)
    .serialize_none_to_null(false)
    .serialize_unit_to_null(false);

/// Data as a Lua value.
pub(crate) fn to_lua(lua: &Lua, data: &(impl Serialize + ?Sized)) -> Result<Value> {
    data.serialize(JobWriter { lua, words: None })
}

/// The longest text that is taken for a word, in bytes.
const LONGEST_WORD: usize = 16;
/// How many different words of a list are made only once.
const MOST_WORDS: usize = 8;

/// The words of a list: columns say few different ones, hundreds of times.
#[derive(Default)]
struct InternedWords {
    known: RefCell<Vec<(String, LuaString)>>,
    /// The one that was written last, in the place of a value.
    said: Cell<Option<usize>>,
}

impl InternedWords {
    /// Says a word instead of making a text of it; whether it could.
    fn say(&self, lua: &Lua, text: &str) -> Result<bool> {
        let mut known = self.known.borrow_mut();
        let at = known.iter().position(|(word, _)| word == text);
        if at.is_none() && (text.len() > LONGEST_WORD || known.len() == MOST_WORDS) {
            return Ok(false);
        }
        if at.is_none() {
            known.push((text.to_owned(), lua.create_string(text)?));
        }
        self.said.set(at.or(Some(known.len() - 1)));
        Ok(true)
    }
}

/// Makes lists and tables; what else there is, mlua makes.
#[derive(Clone, Copy)]
struct JobWriter<'l> {
    lua: &'l Lua,
    /// Those of the list whose element this is.
    words: Option<&'l InternedWords>,
}

impl<'l> JobWriter<'l> {
    fn plain(self) -> Plain<'l> {
        Plain::new_with_options(self.lua, OPTIONS)
    }
}

macro_rules! whole {
    ($($method:ident($type:ty)),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<Value> {
            Ok(Value::Integer(value.into()))
        })+
    };
}

impl<'l> ser::Serializer for JobWriter<'l> {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = LuaList<'l>;
    type SerializeTuple = LuaList<'l>;
    type SerializeTupleStruct = LuaList<'l>;
    type SerializeTupleVariant = <Plain<'l> as ser::Serializer>::SerializeTupleVariant;
    type SerializeMap = NamedField<'l>;
    type SerializeStruct = NamedField<'l>;
    type SerializeStructVariant = <Plain<'l> as ser::Serializer>::SerializeStructVariant;

    whole! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
    }

    fn serialize_u64(self, value: u64) -> Result<Value> {
        // Lua's numbers hold no more than 2^53 exactly; nothing that is counted comes near.
        Ok(i64::try_from(value).map_or(Value::Number(value as f64), Value::Integer))
    }

    fn serialize_f32(self, value: f32) -> Result<Value> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Value> {
        Ok(Value::Number(value))
    }

    fn serialize_bool(self, value: bool) -> Result<Value> {
        Ok(Value::Boolean(value))
    }

    fn serialize_char(self, value: char) -> Result<Value> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Value> {
        if let Some(words) = self.words
            && words.say(self.lua, value)?
        {
            return Ok(Value::Nil);
        }
        self.lua.create_string(value).map(Value::String)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value> {
        self.lua.create_string(value).map(Value::String)
    }

    fn serialize_unit_struct(self, _: &str) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_none(self) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_unit_variant(self, _: &str, _: u32, variant: &str) -> Result<Value> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &str, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &str,
        _: u32,
        variant: &str,
        value: &T,
    ) -> Result<Value> {
        let table = self.lua.create_table()?;
        table.raw_set(variant, to_lua(self.lua, value)?)?;
        Ok(Value::Table(table))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<LuaList<'l>> {
        let items = Vec::with_capacity(length.unwrap_or_default());
        Ok(LuaList { lua: self.lua, items, words: InternedWords::default() })
    }

    fn serialize_tuple(self, length: usize) -> Result<LuaList<'l>> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &str, length: usize) -> Result<LuaList<'l>> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        self.plain().serialize_tuple_variant(name, index, variant, length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<NamedField<'l>> {
        let table = self.lua.create_table_with_capacity(0, length.unwrap_or_default())?;
        Ok(NamedField { lua: self.lua, table, key: Value::Nil })
    }

    fn serialize_struct(self, _: &str, length: usize) -> Result<NamedField<'l>> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant> {
        self.plain().serialize_struct_variant(name, index, variant, length)
    }
}

struct LuaList<'l> {
    lua: &'l Lua,
    items: Vec<LuaItem>,
    words: InternedWords,
}

enum LuaItem {
    Value(Value),
    Word(usize),
}

impl ser::SerializeSeq for LuaList<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let written = value.serialize(JobWriter { lua: self.lua, words: Some(&self.words) })?;
        self.items.push(self.words.said.take().map_or(LuaItem::Value(written), LuaItem::Word));
        Ok(())
    }

    fn end(self) -> Result<Value> {
        let known = self.words.known.into_inner();
        let word = |item: &LuaItem| match item {
            LuaItem::Word(at) => Some(&known[*at].1),
            LuaItem::Value(_) => None,
        };
        // A list of nothing but words needs no value for each.
        let list = match self.items.iter().map(word).collect::<Option<Vec<&LuaString>>>() {
            Some(words) => self.lua.create_sequence_from(words)?,
            None => {
                self.lua.create_sequence_from(self.items.into_iter().map(|item| match item {
                    LuaItem::Word(at) => Value::String(known[at].1.clone()),
                    LuaItem::Value(value) => value,
                }))?
            }
        };
        Ok(Value::Table(list))
    }
}

impl ser::SerializeTuple for LuaList<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeTupleStruct for LuaList<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value> {
        ser::SerializeSeq::end(self)
    }
}

struct NamedField<'l> {
    lua: &'l Lua,
    table: Table,
    key: Value,
}

impl ser::SerializeMap for NamedField<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = to_lua(self.lua, key)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.table.raw_set(&self.key, to_lua(self.lua, value)?)
    }

    fn end(self) -> Result<Value> {
        Ok(Value::Table(self.table))
    }
}

impl ser::SerializeStruct for NamedField<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.table.raw_set(name, to_lua(self.lua, value)?)
    }

    fn end(self) -> Result<Value> {
        Ok(Value::Table(self.table))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::read::read_any;

    #[derive(Serialize)]
    struct Inner {
        word: &'static str,
        nothing: Option<u32>,
    }

    #[derive(Serialize)]
    #[serde(tag = "op", rename_all = "snake_case")]
    enum Tagged {
        One(Inner),
    }

    #[derive(Serialize)]
    enum Outer {
        Plain,
        Newtype(u8),
        Struct { a: bool },
        Tuple(u8, f64),
    }

    #[derive(Serialize)]
    struct All {
        list: Vec<u64>,
        words: [&'static str; 2],
        mixed: Vec<Option<&'static str>>,
        tagged: Tagged,
        outer: Vec<Outer>,
        map: BTreeMap<&'static str, i64>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[test]
    fn data_is_the_same_in_lua() {
        let inner = || Inner { word: "w", nothing: None };
        let all = All {
            list: vec![1, 2],
            words: ["a", "b"],
            mixed: vec![
                Some(""),
                Some("a long text, of which no word is made"),
                Some("a"),
                Some("a"),
            ],
            tagged: Tagged::One(inner()),
            outer: vec![
                Outer::Plain,
                Outer::Newtype(1),
                Outer::Struct { a: true },
                Outer::Tuple(1, 0.5),
            ],
            map: BTreeMap::from([("x", -1)]),
            inner: inner(),
        };
        let lua = Lua::new();
        let written = to_lua(&lua, &all).unwrap();
        let expected = concat!(
            r#"{"list":[1,2],"map":{"x":-1},"#,
            r#""mixed":["","a long text, of which no word is made","a","a"],"#,
            r#""outer":["Plain",{"Newtype":1},{"Struct":{"a":true}},{"Tuple":[1,0.5]}],"#,
            r#""tagged":{"op":"one","word":"w"},"word":"w","words":["a","b"]}"#,
        );
        assert_eq!(read_any(&written).unwrap().to_string(), expected);
    }
}
