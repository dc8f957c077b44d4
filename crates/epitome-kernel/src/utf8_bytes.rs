//! Bytes of encoded messages as serde writes them: as a text where they are one, so that people and
//! JSON can read them, and number by number where they are not.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Either way of writing them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenBytes<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes(std::borrow::Cow<'a, [u8]>),
}

/// Writes the bytes.
///
/// # Errors
///
/// Those of the serializer.
pub(crate) fn serialize<S: Serializer>(
    bytes: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let written = bytes.as_ref().map(|bytes| match std::str::from_utf8(bytes) {
        Ok(text) => WrittenBytes::Text(text.into()),
        Err(_) => WrittenBytes::Bytes(bytes.into()),
    });
    written.serialize(serializer)
}

/// Reads them.
///
/// # Errors
///
/// Where there is neither a text nor a list of bytes.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    let written = Option::<WrittenBytes<'static>>::deserialize(deserializer)?;
    Ok(written.map(|written| match written {
        WrittenBytes::Text(text) => text.into_owned().into_bytes(),
        WrittenBytes::Bytes(bytes) => bytes.into_owned(),
    }))
}
