//! Files in TOML that people write, held to a schema: `plugin.toml`, and `epitome.toml` in the
//! configuration.
//!
//! Invariant: a type declares what may be said; what may not is named with its line and the nearest
//! name that there is. Nothing is written. Called by whoever reads such a file.

mod old_names;
mod schema;
mod standalone;
mod values;

use std::io::ErrorKind;
use std::path::Path;

pub use self::old_names::{OldNames, renamed};
pub use self::schema::{SchemaBreach, TomlSchema, is_table, is_text, said};
pub use self::standalone::StandaloneToml;
pub use self::values::{BUILT_IN, TomlPart, TomlPlaces, parsed, read, refuse, unreadable};
use crate::problem::ConfigError;

/// Reads the text of a file that lies on the disk, as [`read_text`] does: a pipe, into which nobody may ever
/// write, is none.
///
/// # Errors
///
/// As [`read_text`], and when it is a pipe, a socket or a device.
pub fn read_plain_text(path: &Path, what: &str, who: &str) -> Result<String, ConfigError> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let cause = format!("is a pipe or a device; expected {what}");
        return Err(ConfigError::Unreadable { file: path.display().to_string(), cause });
    }
    read_text(path, what, who)
}

/// Reads the text of a file that is to be `what`, as `who` names one.
///
/// # Errors
///
/// When there is none, or it is no text.
#[expect(clippy::disallowed_methods, reason = "what people write is read here and nowhere else")]
pub fn read_text(path: &Path, what: &str, who: &str) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|error| {
        let cause = match error.kind() {
            ErrorKind::NotFound => format!("no such file; `{who}` names {what}"),
            ErrorKind::IsADirectory => format!("is a folder; expected {what}"),
            ErrorKind::InvalidData => "is no text in UTF-8".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        ConfigError::Unreadable { file: path.display().to_string(), cause }
    })
}
