//! Objects of JSON, as records of messages are written: the names of their fields go out as they are,
//! where a serializer looks at each letter of them.
//!
//! Invariant: what is written is what a serializer writes. Called by [`super::event`].

use serde::Serialize;

/// An object that is being written.
pub(super) struct JsonObject<'o> {
    out: &'o mut Vec<u8>,
    next: u8,
}

impl<'o> JsonObject<'o> {
    /// Begins an object.
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, next: b'{' }
    }

    /// Adds a field. Its name is one that needs no escaping.
    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> serde_json::Result<()> {
        self.named(name);
        serde_json::to_writer(&mut *self.out, value)
    }

    /// Adds a field unless there is nothing to say.
    pub(super) fn some<T: Serialize>(
        &mut self,
        name: &str,
        value: Option<&T>,
    ) -> serde_json::Result<()> {
        value.map_or(Ok(()), |value| self.field(name, value))
    }

    /// Adds the name of a field, whose value follows.
    pub(super) fn named(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.push(self.next);
        self.next = b',';
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Ends it.
    pub(super) fn end(self) {
        if self.next == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}
