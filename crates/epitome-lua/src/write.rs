//! From data to Lua values.
//!
//! Invariant: what is not there is `nil`; lists are made in one step, so that a job with columns of
//! hundreds of messages costs little. Called with jobs, options, memos and answers of others.

use mlua::serde::{SerializeOptions, Serializer as Plain};
use mlua::{Error, Lua, Result, Table, Value};
use serde::Serialize;
use serde::ser::{self, Serializer as _};

const OPTIONS: SerializeOptions = SerializeOptions::new()
    .set_array_metatable(false)
    .serialize_none_to_null(false)
    .serialize_unit_to_null(false);

/// Data as a Lua value.
pub(crate) fn to_lua(lua: &Lua, data: &(impl Serialize + ?Sized)) -> Result<Value> {
    data.serialize(Writer { lua })
}

/// Makes lists and tables; what else there is, mlua makes.
#[derive(Clone, Copy)]
struct Writer<'l> {
    lua: &'l Lua,
}

impl<'l> Writer<'l> {
    fn plain(self) -> Plain<'l> {
        Plain::new_with_options(self.lua, OPTIONS)
    }
}

macro_rules! plain {
    ($($method:ident($type:ty)),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<Value> {
            self.plain().$method(value)
        })+
    };
}

impl<'l> ser::Serializer for Writer<'l> {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = List<'l>;
    type SerializeTuple = List<'l>;
    type SerializeTupleStruct = List<'l>;
    type SerializeTupleVariant = <Plain<'l> as ser::Serializer>::SerializeTupleVariant;
    type SerializeMap = Named<'l>;
    type SerializeStruct = Named<'l>;
    type SerializeStructVariant = <Plain<'l> as ser::Serializer>::SerializeStructVariant;

    plain! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
        serialize_u64(u64), serialize_f32(f32), serialize_f64(f64), serialize_char(char),
        serialize_str(&str), serialize_bytes(&[u8]), serialize_unit_struct(&'static str),
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
        table.raw_set(variant, value.serialize(self)?)?;
        Ok(Value::Table(table))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List<'l>> {
        Ok(List { writer: self, items: Vec::with_capacity(length.unwrap_or_default()) })
    }

    fn serialize_tuple(self, length: usize) -> Result<List<'l>> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &str, length: usize) -> Result<List<'l>> {
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

    fn serialize_map(self, length: Option<usize>) -> Result<Named<'l>> {
        let table = self.lua.create_table_with_capacity(0, length.unwrap_or_default())?;
        Ok(Named { writer: self, table, key: Value::Nil })
    }

    fn serialize_struct(self, _: &str, length: usize) -> Result<Named<'l>> {
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

struct List<'l> {
    writer: Writer<'l>,
    items: Vec<Value>,
}

impl ser::SerializeSeq for List<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.items.push(value.serialize(self.writer)?);
        Ok(())
    }

    fn end(self) -> Result<Value> {
        self.writer.lua.create_sequence_from(self.items).map(Value::Table)
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeTupleStruct for List<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value> {
        ser::SerializeSeq::end(self)
    }
}

struct Named<'l> {
    writer: Writer<'l>,
    table: Table,
    key: Value,
}

impl ser::SerializeMap for Named<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = key.serialize(self.writer)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.table.raw_set(&self.key, value.serialize(self.writer)?)
    }

    fn end(self) -> Result<Value> {
        Ok(Value::Table(self.table))
    }
}

impl ser::SerializeStruct for Named<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.table.raw_set(name, value.serialize(self.writer)?)
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
            r#""outer":["Plain",{"Newtype":1},{"Struct":{"a":true}},{"Tuple":[1,0.5]}],"#,
            r#""tagged":{"op":"one","word":"w"},"word":"w","words":["a","b"]}"#,
        );
        assert_eq!(read_any(&written).unwrap().to_string(), expected);
    }
}
