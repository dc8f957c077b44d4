//! What is encrypted and decrypted: the units of a file, each under its own number.
//!
//! Invariant: whole units are encrypted, or nothing; of a unit that is cut its whole blocks are
//! decrypted, and what is left is nothing. Called by [`super::vfs`] and [`super::seal`].

use aes::Aes256;
use aes::cipher::KeyInit;

use super::key::StoreKey;
use super::layout::SealedKind;
use super::xts::{BLOCK, Xts};

/// What encrypts and decrypts the units of files.
pub(crate) struct Sealer(Xts<Aes256>);

impl Sealer {
    /// Under keys of its own, which are derived from the one in the file.
    pub(crate) fn new(key: &StoreKey) -> Self {
        let derived = |what: &str| Aes256::new(&blake3::derive_key(what, key.secret()).into());
        Self(Xts::new(derived("epitome store 1, content"), derived("epitome store 1, places")))
    }

    /// Encrypts units; says whether they are whole ones, and leaves what are not.
    pub(crate) fn seal(&self, kind: SealedKind, at: u64, bytes: &mut [u8]) -> bool {
        let end = at + bytes.len() as u64;
        if bytes.is_empty() || kind.cover(at..end) != (at..end) {
            return false;
        }
        self.each(kind, at, bytes, |number, unit, _| self.0.encrypt(number, unit));
        true
    }

    /// Decrypts units from the beginning of one on.
    pub(crate) fn open(&self, kind: SealedKind, at: u64, bytes: &mut [u8]) {
        self.each(kind, at, bytes, |number, unit, whole| {
            // A unit that ends within a block can be told only as a whole.
            let told = match (unit.len() == whole, whole.is_multiple_of(BLOCK)) {
                (true, _) => whole,
                (false, true) => unit.len() - unit.len() % BLOCK,
                (false, false) => 0,
            };
            let (told, rest) = unit.split_at_mut(told);
            rest.fill(0);
            if !told.is_empty() {
                self.0.decrypt(number, told);
            }
        });
    }

    /// Passes unit by unit, each with its number and its whole length.
    fn each(
        &self,
        kind: SealedKind,
        mut at: u64,
        mut bytes: &mut [u8],
        work: impl Fn(u128, &mut [u8], usize),
    ) {
        while !bytes.is_empty() {
            let unit = kind.unit(at);
            let whole = usize::try_from(unit.end - unit.start).unwrap_or(usize::MAX);
            let (own, rest) = bytes.split_at_mut(whole.min(bytes.len()));
            work(kind.number(unit.start), own, whole);
            (at, bytes) = (unit.end, rest);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Three pages as they are in a file, and as they are written.
    pub(crate) fn file(kind: SealedKind, sealer: &Sealer) -> [Vec<u8>; 2] {
        let plain: Vec<u8> = (0..12_392_u32).map(|at| (at % 251) as u8).collect();
        let length = if kind == SealedKind::Log { 12_392 } else { 12_288 };
        let plain = plain[..length].to_vec();
        let mut sealed = plain.clone();
        assert!(sealer.seal(kind, 0, &mut sealed));
        [plain, sealed]
    }

    #[test]
    fn of_a_unit_that_is_cut_whole_blocks_are_read() {
        let sealer = Sealer::new(&StoreKey::from([7; 32]));
        let [plain, sealed] = file(SealedKind::Database, &sealer);
        let mut cut = sealed[..5_000].to_vec();
        sealer.open(SealedKind::Database, 0, &mut cut);
        assert_eq!(cut[..4_992], plain[..4_992]);
        assert_eq!(cut[4_992..], [0; 8]);
    }

    #[test]
    fn what_is_no_whole_unit_is_not_encrypted() {
        let sealer = Sealer::new(&StoreKey::from([7; 32]));
        let check = |kind, at, length, is_whole| {
            let mut bytes = vec![1; length];
            assert_eq!(sealer.seal(kind, at, &mut bytes), is_whole, "{kind:?} {at} {length}");
            assert_eq!(bytes == vec![1; length], !is_whole);
        };
        check(SealedKind::Database, 4096, 4096, true);
        check(SealedKind::Database, 4096, 100, false);
        check(SealedKind::Database, 24, 4096, false);
        check(SealedKind::Log, 0, 32, true);
        check(SealedKind::Log, 32, 24, true);
        check(SealedKind::Log, 32, 4120, true);
        check(SealedKind::Log, 48, 8, false);
        check(SealedKind::Log, 0, 0, false);
    }

    #[test]
    fn equal_pages_in_other_places_files_or_under_other_keys_are_not_alike() {
        let sealed = |key: u8, kind, at| {
            let mut page = vec![0; 4096];
            assert!(Sealer::new(&StoreKey::from([key; 32])).seal(kind, at, &mut page));
            page
        };
        let one = sealed(1, SealedKind::Database, 0);
        assert_ne!(one, sealed(1, SealedKind::Database, 4096));
        assert_ne!(one, sealed(2, SealedKind::Database, 0));
        assert_ne!(sealed(1, SealedKind::Log, 56), sealed(1, SealedKind::Log, 56 + 4120));
    }
}
