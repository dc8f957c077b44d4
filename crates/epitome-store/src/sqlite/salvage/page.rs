//! The pages of a damaged file, as they are found: without the database, which gives up a page, or a
//! table, for one wrong byte.
//!
//! Invariant: nothing here trusts what it reads: each length and address is checked. What was deleted
//! does not come back, since the database overwrites it. Called by [`super`].

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use rusqlite::types::Value;
use rustc_hash::FxHashSet;

use super::super::file;
use super::super::raw::RawFile;
use super::super::seal::{FileKind, FileSeal};

/// The size of pages where the file does not say one that may be.
const USUAL: usize = 4096;
/// Bytes of the header of a write-ahead file, and of the one of each page in it.
const LOG_HEADER: usize = 32;
const FRAME: usize = 24;
/// Kinds of pages: a leaf of a table, and those of an index.
const LEAF: u8 = 0x0d;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INNER: u8 = 0x02;

/// A row of a table.
pub(super) struct FoundRow {
    pub(super) id: i64,
    pub(super) cells: Vec<Value>,
}

/// All pages of a file, with what its write-ahead file has newer.
pub(super) struct PageFile {
    main: RawFile,
    log: Option<RawFile>,
    /// Where pages stand in the write-ahead file.
    newer: BTreeMap<usize, usize>,
    seal: FileSeal,
    size: usize,
    /// How many pages there are.
    pub(super) count: usize,
}

impl PageFile {
    pub(super) fn open(path: &Path, seal: FileSeal) -> io::Result<Self> {
        let main = RawFile::open(path, path)?;
        let log = RawFile::open(&file::beside(path, "-wal"), path).ok();
        let told = short(&seal.part(&main, FileKind::Database, 0..18), 16)
            .map(|it| if it == 1 { 1 << 16 } else { it });
        let size = told.filter(|it| it.is_power_of_two() && *it >= 512).unwrap_or(USUAL);
        let count = main.length().div_ceil(size);
        let mut newer = log.as_ref().map(|log| newer(log, size, seal)).unwrap_or_default();
        let most = count + newer.len();
        newer.retain(|&number, _| (1..=most).contains(&number));
        let count = newer.keys().next_back().map_or(count, |&last| count.max(last));
        Ok(Self { main, log, newer, seal, size, count })
    }

    /// A page by its number, from 1 on; as much of it as can be read.
    fn page(&self, number: usize) -> Vec<u8> {
        match (&self.log, self.newer.get(&number)) {
            (Some(log), Some(&at)) => self.seal.part(log, FileKind::Log, at..at + self.size),
            _ => {
                let at = number.saturating_sub(1) * self.size;
                self.seal.part(&self.main, FileKind::Database, at..at + self.size)
            }
        }
    }

    /// The rows of a page that is a leaf of a table, or was before one bit of its kind changed. The page
    /// may miscount them: what stands behind those that it counts are rows too where they are whole and
    /// overlap no other.
    pub(super) fn rows(&self, number: usize) -> Vec<FoundRow> {
        let (page, head) = (self.page(number), if number == 1 { 100 } else { 0 });
        let kind = page.get(head).copied().unwrap_or_default();
        if (kind ^ LEAF).count_ones() > 1 {
            return Vec::new();
        }
        let told = short(&page, head + 3).unwrap_or_default();
        let content = short(&page, head + 5).unwrap_or_default();
        let first = head + 8;
        let room = content.min(page.len()).saturating_sub(first) / 2;
        let (mut taken, mut rows): (Vec<Range<usize>>, _) = (Vec::new(), Vec::new());
        for nth in 0..told.max(room) {
            let Some(at) = short(&page, first + 2 * nth) else { break };
            if nth >= told && at < content {
                continue;
            }
            let Some((row, end)) = self.row(&page, at) else { continue };
            if taken.iter().all(|other| end <= other.start || other.end <= at) {
                taken.push(at..end);
                rows.push(row);
            }
        }
        rows
    }

    fn row(&self, page: &[u8], mut at: usize) -> Option<(FoundRow, usize)> {
        let length = usize::try_from(varint(page, &mut at)?).ok()?;
        let id = varint(page, &mut at)?;
        let (said, end) = self.payload(page, at, length, self.size - 35)?;
        Some((FoundRow { id, cells: cells(&said)? }, end))
    }

    /// What an index holds that begins at a page.
    pub(super) fn entries(&self, root: usize) -> Vec<Vec<Value>> {
        let most = (self.size - 12) * 64 / 255 - 23;
        let (mut todo, mut seen, mut found) = (vec![root], FxHashSet::default(), Vec::new());
        while let Some(number) = todo.pop() {
            let page = self.page(number);
            let skipped = match page.first() {
                Some(&INDEX_INNER) => 4,
                Some(&INDEX_LEAF) => 0,
                _ => continue,
            };
            if number > self.count || !seen.insert(number) {
                continue;
            }
            todo.extend(word(&page, 8).filter(|_| skipped > 0));
            for nth in 0..short(&page, 3).unwrap_or_default() {
                let Some(at) = short(&page, 8 + skipped + 2 * nth) else { break };
                todo.extend(word(&page, at).filter(|_| skipped > 0));
                let mut at = at + skipped;
                let said = varint(&page, &mut at).and_then(|length| {
                    self.payload(&page, at, usize::try_from(length).ok()?, most)
                });
                found.extend(said.and_then(|(said, _)| cells(&said)));
            }
        }
        found
    }

    /// What is written at a place, with what of it stands on other pages, and where it ends there;
    /// `most` fits on a page.
    fn payload(
        &self,
        page: &[u8],
        at: usize,
        length: usize,
        most: usize,
    ) -> Option<(Vec<u8>, usize)> {
        if length > self.count.saturating_mul(self.size) {
            return None;
        }
        if length <= most {
            return Some((page.get(at..at + length)?.to_vec(), at + length));
        }
        let least = (self.size - 12) * 32 / 255 - 23;
        let fits = least + (length - least) % (self.size - 4);
        let here = at + if fits <= most { fits } else { least };
        let mut said = page.get(at..here)?.to_vec();
        let mut next = word(page, here)?;
        while said.len() < length {
            let more = self.page(next);
            said.extend_from_slice(more.get(4..4 + (length - said.len()).min(self.size - 4))?);
            next = word(&more, 0)?;
        }
        Some((said, here + 4))
    }
}

/// Where the acknowledged pages of a write-ahead file stand in it, the newest of each; be it that its
/// check sums do not hold any more.
fn newer(log: &RawFile, size: usize, seal: FileSeal) -> BTreeMap<usize, usize> {
    let at = |nth: usize| LOG_HEADER + nth * (FRAME + size);
    let frames = log.length().saturating_sub(LOG_HEADER) / (FRAME + size);
    let part = |at, length| seal.part(log, FileKind::Log, at..at + length);
    let heads: Vec<Vec<u8>> = (0..frames).map(|nth| part(at(nth), FRAME)).collect();
    // Older pages stand behind those of now, under another salt.
    let told = Some(part(16, 8));
    let salt = |head: &Vec<u8>| head.get(8..16).map(<[u8]>::to_vec);
    let is_told = heads.iter().any(|head| salt(head) == told);
    let own = if is_told { told } else { heads.first().and_then(salt) };
    let ends = |head: &Vec<u8>| salt(head) == own && word(head, 4) != Some(0);
    let committed = heads.iter().rposition(ends).map_or(0, |last| last + 1);
    let pages = heads[..committed].iter().enumerate();
    pages.filter_map(|(nth, head)| Some((word(head, 0)?, at(nth) + FRAME))).collect()
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes(pair.try_into().ok()?)))
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?;
    usize::try_from(u32::from_be_bytes(word.try_into().ok()?)).ok()
}

/// A number of one to nine bytes; `at` stands behind it then.
fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut number: u64 = 0;
    for nth in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if nth == 8 {
            return Some((number << 8 | u64::from(byte)).cast_signed());
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number.cast_signed())
}

/// The columns of a row; `None` where they do not fill it.
fn cells(said: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let end = usize::try_from(varint(said, &mut at)?).ok()?;
    let (mut value, mut found) = (end, Vec::new());
    while at < end {
        let kind = varint(said, &mut at)?;
        found.push(cell(said, kind, &mut value)?);
    }
    (at == end && value == said.len()).then_some(found)
}

fn cell(said: &[u8], kind: i64, at: &mut usize) -> Option<Value> {
    let width = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        12.. => usize::try_from((kind - 12) / 2).ok()?,
        _ => return None,
    };
    let bytes = said.get(*at..at.checked_add(width)?)?;
    *at += width;
    Some(match kind {
        0 => Value::Null,
        8 | 9 => Value::Integer(kind - 8),
        7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        1..=6 => {
            let sign = if bytes[0] < 0x80 { 0 } else { -1 };
            Value::Integer(bytes.iter().fold(sign, |sum, byte| sum << 8 | i64::from(*byte)))
        }
        _ if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}
