//! Folds a listing by folder.
//!
//! Invariant: an entry stands below the head of its folder, which counts it whether it is shown or
//! not. Called by the crate.

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::outline::{
    DigestOutline, OutlineItem, RankCap, counted, passages, spread,
};
use epitome_plugin::text::query::QueryWords;
use epitome_plugin::text::{kind, shape};
use epitome_plugin::{DigestInput, DigestOutput};
use rustc_hash::FxHashMap;

use crate::KIND;
use crate::listing::{Listing, ListingEntry, Sort, bytes};

/// All names are said up to this size, by the measure of the job.
pub(crate) const WHOLE: u64 = 1500;
/// Where not all heads of folders fit, folders are joined down to these depths; at last only some
/// are said.
const DEPTHS: [(usize, bool); 5] =
    [(usize::MAX, true), (3, true), (2, true), (1, true), (1, false)];
/// Endings are counted in folders of so many files, and so many endings of each.
const MANY: usize = 6;
const ENDINGS: usize = 4;
/// What at most this share of the entries has in common makes them stand out.
const FEW: f64 = 0.05;
/// The largest entries of a listing that are shown, where they are so many times the size of most.
const LARGEST: usize = 5;
const LARGE: f64 = 2.0;

/// Ranks: heads and what the program said, what was asked for, what stands out, all others, and what
/// is like one of those.
const HEAD: u32 = 0;
const ASKED: u32 = 1;
const ODD: u32 = 2;
const OTHER: u32 = 3;
const LIKE: u32 = 1 << 16;

pub(crate) fn digest(job: &DigestInput<'_>, listing: &Listing<'_>) -> Option<DigestOutput> {
    if listing.sort == Sort::Sizes {
        return by_size(job, listing);
    }
    let fold = FoldedListing::of(job, listing);
    let cap = |rank, most| RankCap { rank, most };
    let caps = || vec![cap(OTHER, job.number("whole", WHOLE)), cap(LIKE, 0)];
    DEPTHS.iter().find_map(|&(depth, all)| {
        let noun = (!all).then_some("folders");
        let outline = DigestOutline {
            head: fold.head(),
            items: fold.items(depth),
            caps: caps(),
            noun,
            must: all,
        };
        let digested = outline.fill(job, KIND)?;
        let beside = fold.beside();
        let left = passages(job.text, digested.left.into_iter().chain(beside));
        (digested.text.len() < job.text.len()).then_some(DigestOutput { left, ..digested })
    })
}

/// What `du` says: the sum and the largest.
fn by_size(job: &DigestInput<'_>, listing: &Listing<'_>) -> Option<DigestOutput> {
    let mut order: Vec<usize> = (0..listing.entries.len()).collect();
    let size = |index: &usize| bytes(listing.entries[*index].size).unwrap_or_default();
    order.sort_by(|one, other| size(other).total_cmp(&size(one)).then(one.cmp(other)));
    let mut ranks = vec![OTHER; listing.entries.len()];
    for (place, index) in (0u32..).zip(order) {
        ranks[index] = ODD + place;
    }
    if let Some(last) = ranks.last_mut() {
        *last = HEAD;
    }
    let asked = asked(job, listing);
    let entries = listing.entries.iter().zip(ranks).map(|(entry, rank)| {
        let rank = if asked.says(entry.name) { rank.min(ASKED) } else { rank };
        (entry.span.clone(), rank)
    });
    let mut spans: Vec<(Range<usize>, u32)> =
        entries.chain(listing.others.iter().map(|span| (span.clone(), HEAD))).collect();
    spans.sort_by_key(|(span, _)| span.start);
    let items = spans.into_iter().enumerate().map(|(like, (span, rank))| {
        let text = Cow::Borrowed(&job.text[span.clone()]);
        OutlineItem { text, span, rank, like, whole: true }
    });
    let head = format!("[… sizes of {}, the largest]", counted(listing.entries.len(), "entries"));
    let caps = vec![RankCap { rank: ODD + LARGEST as u32, most: job.number("whole", WHOLE) }];
    let items = items.collect();
    let digested =
        DigestOutline { head, items, caps, noun: Some("lines"), must: false }.fill(job, KIND)?;
    (digested.text.len() < job.text.len()).then_some(digested)
}

fn asked(job: &DigestInput<'_>, listing: &Listing<'_>) -> QueryWords {
    QueryWords::of(job.arguments, listing.entries.iter().map(|entry| entry.name))
}

/// A listing and what its entries have in common.
struct FoldedListing<'a> {
    text: &'a str,
    listing: &'a Listing<'a>,
    asked: QueryWords,
    /// How many entries have which access.
    accesses: FxHashMap<&'a [&'a str], usize>,
    /// The access that most files have, and that most folders have.
    usual: [&'a [&'a str]; 2],
    /// The size from which on an entry is one of the largest.
    large: f64,
}

impl<'a> FoldedListing<'a> {
    fn of(job: &DigestInput<'a>, listing: &'a Listing<'a>) -> Self {
        let counts = |entries: &mut dyn Iterator<Item = &'a ListingEntry<'a>>| {
            let mut counts: FxHashMap<&[&str], usize> = FxHashMap::default();
            entries.for_each(|entry| *counts.entry(&entry.access).or_default() += 1);
            counts
        };
        let usual = [false, true].map(|is_folder| {
            let mut entries = listing.entries.iter().filter(|entry| entry.is_folder == is_folder);
            let most = counts(&mut entries).into_iter();
            let most = most.max_by(|one, other| one.1.cmp(&other.1).then(other.0.cmp(one.0)));
            most.map(|(access, _)| access).unwrap_or_default()
        });
        let accesses = counts(&mut listing.entries.iter());
        let files = listing.entries.iter().filter(|entry| !entry.is_folder);
        let mut sizes: Vec<f64> = files.filter_map(|entry| bytes(entry.size)).collect();
        sizes.sort_by(|one, other| other.total_cmp(one));
        let middle = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
        let large = sizes.get(LARGEST.min(sizes.len() / 4)).copied().unwrap_or(f64::INFINITY);
        let large = large.max(middle * LARGE);
        Self { text: job.text, listing, asked: asked(job, listing), accesses, usual, large }
    }

    fn head(&self) -> String {
        let count = counted(self.listing.entries.len(), "entries");
        let usual = self.usual[0].join(" ");
        match usual.is_empty() {
            true => format!("[… listing of {count}, by folder]"),
            false => format!(
                "[… listing of {count}, by folder; files are {usual} unless shown otherwise]"
            ),
        }
    }

    /// Entries that the heads of their folders stand for.
    fn beside(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let headed = self.listing.entries.iter().filter(|entry| entry.has_head);
        headed.map(|entry| entry.span.clone())
    }

    /// Whether its access is another than the head says.
    fn differs(&self, entry: &ListingEntry<'_>) -> bool {
        entry.access != self.usual[usize::from(entry.is_folder)]
    }

    /// Whether its access is as that of few others, or there is nothing in it.
    fn is_odd(&self, entry: &ListingEntry<'_>) -> bool {
        let same = self.accesses.get(&*entry.access).copied().unwrap_or_default();
        let few = same as f64 <= self.listing.entries.len() as f64 * FEW;
        self.differs(entry) && few || entry.size == "0"
    }

    /// Each folder down to a depth, and below it what lies in it.
    fn items(&self, depth: usize) -> Vec<OutlineItem<'a>> {
        let mut items = Vec::new();
        for span in &self.listing.others {
            let own = items.len();
            let text = Cow::Borrowed(&self.text[span.clone()]);
            items.push(OutlineItem {
                text,
                span: span.clone(),
                rank: HEAD,
                like: own,
                whole: true,
            });
        }
        for (folder, entries) in self.grouped(depth) {
            let start = entries.first().map_or(0, |entry| entry.span.start);
            let own = items.len();
            let text = heading(folder, &entries).into();
            items.push(OutlineItem {
                text,
                span: start..start,
                rank: HEAD,
                like: own,
                whole: true,
            });
            self.entries(folder, &entries, &mut items);
        }
        items
    }

    fn entries(
        &self,
        folder: &str,
        entries: &[&'a ListingEntry<'a>],
        items: &mut Vec<OutlineItem<'a>>,
    ) {
        let mut endings: FxHashMap<&str, usize> = FxHashMap::default();
        entries.iter().for_each(|entry| *endings.entry(ending(entry.name)).or_default() += 1);
        let mut kinds: FxHashMap<(u64, &[&str]), usize> = FxHashMap::default();
        let shown = entries.iter().filter(|entry| !entry.has_head);
        for (place, entry) in shown.enumerate() {
            let odd = self.is_odd(entry);
            let alone = endings[ending(entry.name)] == 1 && entries.len() > MANY;
            let large =
                !entry.is_folder && bytes(entry.size).is_some_and(|size| size >= self.large);
            let rank = match () {
                () if self.asked.says(entry.name) || shape::fails(entry.name) => ASKED,
                () if odd || alone || large || place == 0 => ODD,
                () => OTHER + spread(place),
            };
            let text = self.said(folder, entry, self.differs(entry));
            let own = items.len();
            let like = *kinds.entry((kind::of(entry.name).0, &entry.access)).or_insert(own);
            // Those that stand out are not folded into others.
            let like = if rank <= ODD { own } else { like };
            let rank = if like == own { rank } else { LIKE };
            let whole = text.len() >= entry.span.len();
            items.push(OutlineItem { text, span: entry.span.clone(), rank, like, whole });
        }
    }

    /// An entry as it is shown below the head of a folder; its whole `line` where that is said.
    fn said(&self, folder: &str, entry: &ListingEntry<'a>, line: bool) -> Cow<'a, str> {
        let below = entry.folder.strip_prefix(folder).unwrap_or_default();
        if self.listing.sort == Sort::Long && line && below.is_empty() {
            return Cow::Borrowed(&self.text[entry.span.clone()]);
        }
        let slash = if entry.is_folder && !entry.name.ends_with('/') { "/" } else { "" };
        match entry.size {
            _ if entry.is_folder && below.is_empty() && slash.is_empty() => entry.name.into(),
            "" => format!("{below}{}{slash}", entry.name).into(),
            _ if entry.is_folder => format!("{below}{}{slash}", entry.name).into(),
            size => format!("{size} {below}{}", entry.name).into(),
        }
    }

    /// The entries of each folder, in the order in which folders were first seen.
    fn grouped(&self, depth: usize) -> Vec<(&'a str, Vec<&'a ListingEntry<'a>>)> {
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        let mut out: Vec<(&'a str, Vec<&'a ListingEntry<'a>>)> = Vec::new();
        let inner = self.listing.entries.iter().filter(|entry| !matches!(entry.name, "." | ".."));
        for entry in inner {
            let folder = upper(&entry.folder, depth);
            let place = *places.entry(folder).or_insert(out.len());
            if place == out.len() {
                out.push((folder, Vec::new()));
            }
            out[place].1.push(entry);
        }
        out
    }
}

/// A folder, at most so many names deep.
fn upper(folder: &str, depth: usize) -> &str {
    // The `./` and `/` with which a path may begin are no names.
    let root =
        ["./", "/"].iter().find(|root| folder.starts_with(**root)).map_or(0, |root| root.len());
    let ends = folder.match_indices('/').map(|(at, _)| at + 1).filter(|end| *end > root);
    &folder[..ends.take(depth).last().unwrap_or(root)]
}

/// The head of a folder: its path and what is in it.
fn heading(folder: &str, entries: &[&ListingEntry<'_>]) -> String {
    let folders = entries.iter().filter(|entry| entry.is_folder).count();
    let mut said: Vec<String> = Vec::new();
    for (count, noun) in [(entries.len() - folders, "files"), (folders, "folders")] {
        if count > 0 {
            said.push(counted(count, noun));
        }
    }
    let files = || entries.iter().filter(|entry| !entry.is_folder);
    let sum: Option<f64> = files().map(|entry| bytes(entry.size)).sum();
    said.extend(sum.filter(|sum| *sum > 0.0).map(human));
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    files().for_each(|entry| *counts.entry(ending(entry.name)).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts
        .retain(|(ending, count)| !ending.is_empty() && *count > 1 && count * 10 >= entries.len());
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    if entries.len() > MANY && !counts.is_empty() {
        let endings =
            counts.iter().take(ENDINGS).map(|(ending, count)| format!("{count} .{ending}"));
        said.push(endings.collect::<Vec<_>>().join(" "));
    }
    let said = said.join(", ");
    if folder.is_empty() { format!("[… {said}]") } else { format!("{folder} [… {said}]") }
}

/// What stands behind the last dot of a name; empty where none does, or nothing before it.
fn ending(name: &str) -> &str {
    let ending = name.rsplit_once('.').filter(|(before, _)| !before.is_empty());
    let ending = ending.map_or("", |(_, ending)| ending);
    let short = ending.len() <= 8 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if short { ending } else { "" }
}

/// A number of bytes in the unit that reads best.
fn human(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut size = bytes;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{size:.0} B") } else { format!("{size:.1} {}", units[unit]) }
}
