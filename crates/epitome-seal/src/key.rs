//! The key of a store, and the file that it is in.
//!
//! Invariant: a key is never shown, and one that others may read is no key. Called by hosts that have
//! stores encrypted.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a key.
const KEY: usize = 32;

/// So much of a file is read: more than any key has.
const MOST: u64 = 256;

/// The key that a store is encrypted with.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreKey([u8; KEY]);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// The file cannot be read.
    #[error(
        "the key file `{path}` cannot be read: {cause}; `epitome store key FILE` makes a new key"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Others may read it.
    #[error("others may read the key file `{path}`; `chmod 600 {path}` leaves it to you alone")]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It holds something else.
    #[error(
        "the key file `{path}` holds no key: expected 32 bytes, or 64 hexadecimal digits, as \
         `epitome store key FILE` writes them"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// A new one cannot be written.
    #[error("the key file `{path}` cannot be made: {cause}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl StoreKey {
    /// Reads the key in a file: 32 bytes, or 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Where the file is not there, others than its owner may read it, or it holds something else.
    pub fn load(path: &Path) -> Result<Self, KeyFault> {
        let unreadable = |cause| KeyFault::Unreadable { path: path.to_owned(), cause };
        let file = OpenOptions::new().read(true).open(path).map_err(unreadable)?;
        if is_open_to_others(&file).map_err(unreadable)? {
            return Err(KeyFault::Open { path: path.to_owned() });
        }
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes).map_err(unreadable)?;
        Self::parse(&bytes).ok_or_else(|| KeyFault::NoKey { path: path.to_owned() })
    }

    /// Makes a new key, at random, in a file that is not there: only its owner may read it.
    ///
    /// # Errors
    ///
    /// Where there is such a file, or none can be written.
    pub fn create(path: &Path) -> Result<Self, KeyFault> {
        let unwritable = |cause| KeyFault::Unwritable { path: path.to_owned(), cause };
        let mut secret = [0; KEY];
        getrandom::fill(&mut secret).map_err(|error| unwritable(io::Error::other(error)))?;
        let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = private_file().open(path).map_err(unwritable)?;
        file.write_all(format!("{digits}\n").as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(unwritable)?;
        Ok(Self(secret))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        if let Ok(secret) = bytes.try_into() {
            return Some(Self(secret));
        }
        let digits = std::str::from_utf8(bytes).ok()?.trim();
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if digits.len() != 2 * KEY || !is_hex {
            return None;
        }
        let mut secret = [0; KEY];
        for (at, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(secret))
    }

    pub(crate) fn secret(&self) -> &[u8; KEY] {
        &self.0
    }
}

impl From<[u8; KEY]> for StoreKey {
    fn from(secret: [u8; KEY]) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("StoreKey")
    }
}

#[cfg(unix)]
fn is_open_to_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &File) -> io::Result<bool> {
    Ok(false)
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_bytes_or_digits() {
        let check = |bytes: &[u8], key: Option<[u8; 32]>| {
            assert_eq!(StoreKey::parse(bytes), key.map(StoreKey::from));
        };
        check(&[9; 32], Some([9; 32]));
        check("0a".repeat(32).as_bytes(), Some([10; 32]));
        check(format!(" {}\r\n", "FF".repeat(32)).as_bytes(), Some([255; 32]));
        check(&[9; 31], None);
        check(&[9; 33], None);
        check("0a".repeat(31).as_bytes(), None);
        check("0g".repeat(32).as_bytes(), None);
        check("+1".repeat(32).as_bytes(), None);
        check(b"", None);
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let missing = StoreKey::load(&path).unwrap_err().to_string();
        assert!(missing.contains("cannot be read") && missing.contains("store key"), "{missing}");
        let key = StoreKey::create(&path).unwrap();
        assert_eq!(StoreKey::load(&path).unwrap(), key);
        assert_ne!(StoreKey::create(&folder.path().join("other")).unwrap(), key);
        assert!(matches!(StoreKey::create(&path), Err(KeyFault::Unwritable { .. })));
        assert_eq!(format!("{key:?}"), "StoreKey");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        StoreKey::create(&path).unwrap();
        for (mode, is_refused) in [(0o644, true), (0o640, true), (0o604, true), (0o400, false)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                matches!(StoreKey::load(&path), Err(KeyFault::Open { .. })),
                is_refused,
                "{mode:o}"
            );
        }
    }
}
