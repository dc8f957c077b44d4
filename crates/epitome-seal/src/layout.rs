//! Where the units of a file begin and end: what the database writes at once.
//!
//! Invariant: each byte of a file is in one unit, whose number tells its place and its kind of file.
//! Called by [`super::sealer`].

use std::ops::Range;

/// Bytes of a page. Stores have no others.
pub(crate) const PAGE: u64 = 4096;

/// Bytes of the header of a write-ahead file, and of the one of each page in it.
const HEADER: u64 = 32;
const FRAME: u64 = 24;

/// A file of a store that is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedKind {
    /// The database: pages.
    Database,
    /// Its write-ahead file: a header, then pages with a header each.
    Log,
}

impl SealedKind {
    /// The unit that a byte is in.
    pub(crate) fn unit(self, at: u64) -> Range<u64> {
        match self {
            Self::Database => {
                let start = at - at % PAGE;
                start..start + PAGE
            }
            Self::Log if at < HEADER => 0..HEADER,
            Self::Log => {
                let within = (at - HEADER) % (FRAME + PAGE);
                let start = at - within;
                match within < FRAME {
                    true => start..start + FRAME,
                    false => start + FRAME..start + FRAME + PAGE,
                }
            }
        }
    }

    /// The number that a unit is encrypted under.
    pub(crate) fn number(self, start: u64) -> u128 {
        let kind: u128 = match self {
            Self::Database => 0,
            Self::Log => 1,
        };
        kind << 64 | u128::from(start)
    }

    /// The units that hold these bytes.
    pub(crate) fn cover(self, bytes: Range<u64>) -> Range<u64> {
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        self.unit(bytes.start).start..self.unit(last).end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_in_one_unit() {
        let check = |kind: SealedKind, at, unit: Range<u64>| assert_eq!(kind.unit(at), unit);
        check(SealedKind::Database, 0, 0..4096);
        check(SealedKind::Database, 4095, 0..4096);
        check(SealedKind::Database, 4096, 4096..8192);
        check(SealedKind::Log, 31, 0..32);
        check(SealedKind::Log, 32, 32..56);
        check(SealedKind::Log, 55, 32..56);
        check(SealedKind::Log, 56, 56..4152);
        check(SealedKind::Log, 4151, 56..4152);
        check(SealedKind::Log, 4152, 4152..4176);
        for kind in [SealedKind::Database, SealedKind::Log] {
            let mut at = 0;
            while at < 40_000 {
                let unit = kind.unit(at);
                assert_eq!(unit.start, at);
                assert!(unit.clone().all(|byte| kind.unit(byte) == unit));
                at = unit.end;
            }
        }
    }

    #[test]
    fn units_cover_what_is_read() {
        assert_eq!(SealedKind::Database.cover(24..40), 0..4096);
        assert_eq!(SealedKind::Database.cover(4000..4097), 0..8192);
        assert_eq!(SealedKind::Log.cover(40..48), 32..56);
        assert_eq!(SealedKind::Log.cover(32..4152), 32..4152);
        assert_eq!(SealedKind::Log.cover(0..0), 0..32);
    }
}
