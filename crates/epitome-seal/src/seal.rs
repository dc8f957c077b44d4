//! The files of a store under a key, and the name by which the database asks for it.
//!
//! Invariant: a key has one name for the whole program. Called by stores.

use std::fmt;
use std::ops::Range;

use super::key::StoreKey;
use super::layout::SealedKind;
use super::sealer::Sealer;
use super::vfs;

/// The files of stores under one key.
#[derive(Clone, Copy)]
pub struct StoreSeal {
    sealer: &'static Sealer,
    vfs: &'static str,
}

impl StoreSeal {
    /// Has the database know a key, once for the program.
    ///
    /// # Errors
    ///
    /// What the database says, where it has no file system at all.
    pub fn new(key: &StoreKey) -> rusqlite::Result<Self> {
        let (sealer, vfs) = vfs::registered(key)?;
        Ok(Self { sealer, vfs })
    }

    /// The name of the file system that encrypts with the key. Under it the database opens databases and
    /// write-ahead files, and no other files: connections keep temporary tables and journals in memory.
    pub fn vfs(self) -> &'static str {
        self.vfs
    }

    /// So many bytes of a file from a place on, as far as `raw` gives what is in the file there.
    pub fn read(
        self,
        kind: SealedKind,
        at: u64,
        most: usize,
        raw: impl FnOnce(Range<u64>) -> Vec<u8>,
    ) -> Vec<u8> {
        let cover = kind.cover(at..at.saturating_add(most as u64));
        let mut bytes = raw(cover.clone());
        self.sealer.open(kind, cover.start, &mut bytes);
        let skipped = usize::try_from(at - cover.start).unwrap_or(usize::MAX).min(bytes.len());
        bytes.drain(..skipped);
        bytes.truncate(most);
        bytes
    }
}

impl fmt::Debug for StoreSeal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("StoreSeal").field(&self.vfs).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealer::tests::file;

    #[test]
    fn any_part_of_a_file_is_read() {
        let seal = StoreSeal::new(&StoreKey::from([7; 32])).unwrap();
        for kind in [SealedKind::Database, SealedKind::Log] {
            let [plain, sealed] = file(kind, seal.sealer);
            let raw = |range: Range<u64>| {
                let [start, end] = [range.start, range.end].map(|at| at as usize);
                sealed[start.min(sealed.len())..end.min(sealed.len())].to_vec()
            };
            for (at, most) in [(0, 16), (24, 16), (40, 8), (4090, 100), (0, 99_999), (12_200, 999)]
            {
                let expected = &plain[at..(at + most).min(plain.len())];
                assert_eq!(seal.read(kind, at as u64, most, raw), expected, "{kind:?} {at} {most}");
            }
        }
    }
}
