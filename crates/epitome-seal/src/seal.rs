//! The files of a store under a key, and the name by which the database asks for it.
//!
//! Invariant: a key has one name for the whole program. Called by stores.

use std::fmt;
use std::ops::Range;

use super::key::StoreKey;
use super::layout::SealedKind;
use super::sealer::Sealer;
use super::vfs;
use super::xts::BLOCK;

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

    /// What is to be written to a file so that it holds other bytes from a place on, and where: the blocks
    /// that they are in. Nothing where `raw` does not give the whole page or header that they are in.
    pub fn change(
        self,
        kind: SealedKind,
        at: u64,
        bytes: &[u8],
        raw: impl FnOnce(Range<u64>) -> Vec<u8>,
    ) -> Option<(u64, Vec<u8>)> {
        let block = BLOCK as u64;
        let end = at.checked_add(bytes.len() as u64)?;
        let cover = kind.cover(at..end);
        let mut unit = raw(cover.clone());
        self.sealer.open(kind, cover.start, &mut unit);
        let place = |place: u64| usize::try_from(place - cover.start).ok();
        unit.get_mut(place(at)?..place(end)?)?.copy_from_slice(bytes);
        if !self.sealer.seal(kind, cover.start, &mut unit) {
            return None;
        }
        let first = at - (at - cover.start) % block;
        let last = (end - cover.start).next_multiple_of(block) + cover.start;
        let blocks = unit.get(place(first)?..place(last.min(cover.end))?)?;
        Some((first, blocks.to_vec()))
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

    #[test]
    fn what_is_changed_is_all_that_changes() {
        let seal = StoreSeal::new(&StoreKey::from([7; 32])).unwrap();
        let [mut plain, mut sealed] = file(SealedKind::Database, seal.sealer);
        let before = sealed.clone();
        let raw = |range: Range<u64>| sealed[range.start as usize..range.end as usize].to_vec();
        let (at, blocks) = seal.change(SealedKind::Database, 4176, b"used", raw).unwrap();
        assert_eq!((at, blocks.len()), (4176, 16));
        sealed[4176..4192].copy_from_slice(&blocks);
        plain[4176..4180].copy_from_slice(b"used");
        let changed = sealed.iter().zip(&before).filter(|(now, then)| now != then).count();
        assert!((1..=16).contains(&changed));
        let read = seal.read(SealedKind::Database, 0, 8192, |range| {
            sealed[range.start as usize..range.end as usize].to_vec()
        });
        assert_eq!(read, plain[..8192]);
        assert_eq!(seal.change(SealedKind::Database, 80, b"used", |_| vec![0; 99]), None);
    }
}
