//! The write-ahead file before it is read: whether all that it acknowledged is still in it.
//!
//! Invariant: the database silently takes a write-ahead file as far as its check sums hold; what
//! stands behind that point, and the shared index that outlives a killed process, tell whether it
//! ended there. A request that was cut off by a crash was never acknowledged and is no loss. Called
//! when a store is opened.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::file;
use super::raw::RawFile;
use super::seal::FileSeal;

/// Bytes of the file's header, and of the one of each page in it.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// Bytes of the shared index that are looked at: its header twice, and what was copied back.
const INDEX: usize = 100;

/// Another process may be writing: only what looks the same so often, this far apart, is a loss.
const LOOKS: usize = 4;
const APART: Duration = Duration::from_millis(25);

/// What is missing of the write-ahead file of a store, if anything.
pub(crate) fn loss(path: &Path, seal: FileSeal) -> Option<String> {
    let first = look(path, seal)?;
    for _ in 1..LOOKS {
        sleep(APART);
        if look(path, seal).as_ref() != Some(&first) {
            return None;
        }
    }
    Some(first)
}

fn look(path: &Path, seal: FileSeal) -> Option<String> {
    // The index first: what it knows of was in the file before.
    let index = RawFile::open(&file::beside(path, "-shm"), path).and_then(|index| index.read());
    let index = index.unwrap_or_default();
    let log = seal.log(path);
    judge(&log, WalIndex::of(&index).as_ref())
}

fn judge(log: &[u8], index: Option<&WalIndex>) -> Option<String> {
    let acknowledged = |index: &&WalIndex| index.frames > index.copied_back;
    if log.is_empty() {
        let index = index.filter(acknowledged)?;
        return Some(format!("it is empty or gone, and {} pages were in it", index.frames));
    }
    let Some(header) = WalHeader::of(log) else {
        return Some("its beginning is not as it was written".to_owned());
    };
    let sound = header.sound(log);
    let known = index.filter(acknowledged).filter(|index| index.salt == header.salt);
    if let Some(index) = known.filter(|index| index.frames > sound.committed) {
        let (left, all) = (sound.committed, index.frames);
        return Some(format!("{left} of its {all} pages are as they were written"));
    }
    let behind = (sound.frames + 1..header.frames(log)).any(|at| header.commits(log, at));
    behind.then(|| format!("pages behind the first {} are damaged", sound.committed))
}

/// The header of a write-ahead file.
struct WalHeader {
    big_endian: bool,
    page: usize,
    salt: [u8; 8],
    sum: [u32; 2],
}

/// How far it is as it was written.
struct WalExtent {
    /// Pages.
    frames: usize,
    /// Pages up to the end of the last whole transaction.
    committed: usize,
}

impl WalHeader {
    fn of(log: &[u8]) -> Option<Self> {
        let magic = number(log, 0)?;
        let big_endian = magic & 1 == 1;
        let salt = log.get(16..24)?.try_into().ok()?;
        let sum = add([0, 0], log.get(..24)?, big_endian);
        let page = usize::try_from(number(log, 8)?).ok()?;
        let right = magic & !1 == 0x377f_0682
            && [number(log, 24)?, number(log, 28)?] == sum
            && page.is_power_of_two()
            && page >= 512;
        right.then_some(Self { big_endian, page, salt, sum })
    }

    /// Pages in the file, whole ones.
    fn frames(&self, log: &[u8]) -> usize {
        (log.len() - HEADER) / (FRAME + self.page)
    }

    fn frame<'a>(&self, log: &'a [u8], at: usize) -> Option<&'a [u8]> {
        let start = HEADER + at * (FRAME + self.page);
        log.get(start..start + FRAME + self.page)
    }

    /// Whether the page at `at` claims to end a transaction of this file.
    fn commits(&self, log: &[u8], at: usize) -> bool {
        self.frame(log, at).is_some_and(|frame| {
            number(frame, 4).is_some_and(|size| size > 0) && frame[8..16] == self.salt
        })
    }

    fn sound(&self, log: &[u8]) -> WalExtent {
        let (mut sum, mut sound) = (self.sum, WalExtent { frames: 0, committed: 0 });
        while let Some(frame) = self.frame(log, sound.frames) {
            sum = add(sum, &frame[..8], self.big_endian);
            sum = add(sum, &frame[FRAME..], self.big_endian);
            let told = number(frame, 16).zip(number(frame, 20)).map(|(a, b)| [a, b]);
            if frame[8..16] != self.salt || told != Some(sum) {
                break;
            }
            sound.frames += 1;
            if self.commits(log, sound.frames - 1) {
                sound.committed = sound.frames;
            }
        }
        sound
    }
}

/// The shared index, as far as it tells of the write-ahead file.
struct WalIndex {
    salt: [u8; 8],
    frames: usize,
    copied_back: usize,
}

impl WalIndex {
    /// Reads it; `None` for one that is not in use, or was just being written.
    fn of(index: &[u8]) -> Option<Self> {
        let index = index.get(..INDEX)?;
        let native = |at: usize| {
            let bytes = index.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_ne_bytes(bytes)).ok()
        };
        if index[..48] != index[48..96] || index[12] != 1 {
            return None;
        }
        let salt = index[32..40].try_into().ok()?;
        Some(Self { salt, frames: native(16)?, copied_back: native(96)? })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The check sum of the file format, continued.
fn add(sum: [u32; 2], bytes: &[u8], big_endian: bool) -> [u32; 2] {
    let word = |word: &[u8]| {
        let word = [word[0], word[1], word[2], word[3]];
        if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    bytes.chunks_exact(8).fold(sum, |[a, b], pair| {
        let a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        [a, b.wrapping_add(word(&pair[4..])).wrapping_add(a)]
    })
}
