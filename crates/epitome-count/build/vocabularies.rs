//! Lays the vocabularies and the Unicode classes out as static tables in `OUT_DIR`, so that the
//! program counts without loading anything. Invariant: every token of more than one byte is what
//! its bytes merge to, through parts with smaller ids; the counter's shortcuts rest on that, so a
//! vocabulary without it fails the build. Called by the build script.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustc_hash::FxHashMap;
use tiktoken_rs::CoreBPE;
use unicode_general_category::{GeneralCategory, get_general_category};

#[path = "../src/class/bits.rs"]
mod bits;
#[path = "../src/hash.rs"]
mod hash;

type Failure = Box<dyn Error>;

/// Writes the vocabularies that are asked for, and the classes of characters.
pub(crate) fn lay_out() -> Result<(), Failure> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    if cfg!(feature = "o200k") {
        write_vocabulary(&out, "o200k", &tiktoken_rs::o200k_base()?)?;
    }
    if cfg!(feature = "cl100k") {
        write_vocabulary(&out, "cl100k", &tiktoken_rs::cl100k_base()?)?;
    }
    write_classes(&out)
}

/// Tokens by id, up to the gap before the special tokens.
fn tokens_of(bpe: &CoreBPE) -> Vec<Vec<u8>> {
    (0..).map_while(|id| bpe.decode_bytes(&[id]).ok()).collect()
}

fn write_vocabulary(out: &Path, name: &str, bpe: &CoreBPE) -> Result<(), Failure> {
    let tokens = tokens_of(bpe);
    if tokens.len() >= 1 << hash::ID_BITS {
        return Err(format!("{name}: {} tokens do not fit into an id", tokens.len()).into());
    }
    let mut bytes = [None; 256];
    for (id, token) in tokens.iter().enumerate() {
        if let [byte] = token[..] {
            bytes[usize::from(byte)] = Some(id as u32);
        }
    }
    let bytes: Vec<u32> =
        bytes.into_iter().collect::<Option<_>>().ok_or("a byte without a token")?;
    let pairs = merges(&tokens, &bytes)?;

    let pairs: Vec<(u128, u64)> = pairs
        .iter()
        .map(|(&pair, &id)| (pair.into(), pair << hash::ID_BITS | u64::from(id)))
        .collect();
    let mut short = Vec::new();
    let mut long = Vec::new();
    for token in &tokens {
        let mut padded = [0; 16];
        let len = token.len();
        match len {
            2..8 => {
                padded[..len].copy_from_slice(token);
                let key = hash::short_key(u128::from_le_bytes(padded) as u64, len);
                short.push((key.into(), key));
            }
            8..16 => {
                padded[..len].copy_from_slice(token);
                let key = hash::long_key(u128::from_le_bytes(padded), len);
                long.push((key, key));
            }
            _ => {}
        }
    }
    let bytes: Vec<u8> = bytes.into_iter().flat_map(u32::to_le_bytes).collect();
    write(out, &format!("{name}.bytes"), &bytes)?;
    write_table(out, &format!("{name}.pairs"), pairs, u64::MAX, u64::to_le_bytes)?;
    write_table(out, &format!("{name}.short"), short, 0, u64::to_le_bytes)?;
    write_table(out, &format!("{name}.long"), long, 0, u128::to_le_bytes)
}

/// For every token of more than one byte the two tokens that merge into it last.
fn merges(tokens: &[Vec<u8>], bytes: &[u32]) -> Result<FxHashMap<u64, u32>, Failure> {
    let mut pairs = FxHashMap::default();
    for (id, token) in tokens.iter().enumerate() {
        let mut parts: Vec<u32> = token.iter().map(|&byte| bytes[usize::from(byte)]).collect();
        while parts.len() > 2 {
            let best = (0..parts.len() - 1)
                .filter_map(|at| Some((*pairs.get(&hash::pair_key(parts[at], parts[at + 1]))?, at)))
                .min();
            let Some((merged, at)) = best else { break };
            parts.splice(at..at + 2, [merged]);
        }
        match parts[..] {
            [_] => {}
            [left, right] if left.max(right) < id as u32 => {
                pairs.insert(hash::pair_key(left, right), id as u32);
            }
            _ => return Err(format!("token {id} is not what its bytes merge to").into()),
        }
    }
    Ok(pairs)
}

/// Writes a perfect hash table ("hash and displace"): every bucket of keys gets the first
/// displacement that sends all of them to free slots, crowded buckets first.
fn write_table<V: Copy, const N: usize>(
    out: &Path,
    name: &str,
    entries: Vec<(u128, V)>,
    empty: V,
    encode: fn(V) -> [u8; N],
) -> Result<(), Failure> {
    let mut buckets = vec![Vec::new(); entries.len() / 3 + 1];
    let mut slots = vec![None; entries.len() + entries.len() / 20 + 1];
    for (key, value) in entries {
        let mixed = hash::mix(key);
        let bucket = hash::bucket(mixed, buckets.len());
        buckets[bucket].push((mixed, value));
    }
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));
    let mut displacements = vec![0_u16; buckets.len()];
    for bucket in order {
        let members = &buckets[bucket];
        let places = |displacement| {
            let mut places: Vec<usize> = members
                .iter()
                .map(|&(mixed, _)| hash::slot(mixed, displacement, slots.len()))
                .collect();
            let free = places.iter().all(|&place| slots[place].is_none());
            places.sort_unstable();
            free && places.windows(2).all(|two| two[0] != two[1])
        };
        let displacement = (0..u16::MAX)
            .find(|&displacement| places(displacement))
            .ok_or_else(|| format!("{name}: no displacement for a bucket of {}", members.len()))?;
        displacements[bucket] = displacement;
        for &(mixed, value) in members {
            let place = hash::slot(mixed, displacement, slots.len());
            slots[place] = Some(value);
        }
    }
    let slots: Vec<u8> = slots.into_iter().flat_map(|slot| encode(slot.unwrap_or(empty))).collect();
    let displacements: Vec<u8> = displacements.into_iter().flat_map(u16::to_le_bytes).collect();
    write(out, &format!("{name}.slots"), &slots)?;
    write(out, &format!("{name}.displacements"), &displacements)
}

/// Writes the class of every character as blocks of 256 and an index of blocks.
fn write_classes(out: &Path) -> Result<(), Failure> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut index = Vec::new();
    for start in (0..=u32::from(char::MAX)).step_by(256) {
        let block: Vec<u8> = (start..start + 256).map(class).collect();
        let known = blocks.iter().position(|other| *other == block);
        index.push(u8::try_from(known.unwrap_or(blocks.len()))?);
        if known.is_none() {
            blocks.push(block);
        }
    }
    write(out, "classes.index", &index)?;
    write(out, "classes.blocks", &blocks.concat())
}

fn class(code: u32) -> u8 {
    use GeneralCategory as G;
    let Some(c) = char::from_u32(code) else { return bits::OTHER };
    if matches!(c, '\r' | '\n') {
        return bits::NEWLINE;
    }
    if c.is_whitespace() {
        return bits::SPACE;
    }
    match get_general_category(c) {
        G::UppercaseLetter | G::TitlecaseLetter => bits::UPPER,
        G::LowercaseLetter => bits::LOWER,
        G::ModifierLetter | G::OtherLetter => bits::UNCASED,
        G::NonspacingMark | G::SpacingMark | G::EnclosingMark => bits::MARK,
        G::DecimalNumber | G::LetterNumber | G::OtherNumber => bits::NUMBER,
        _ => bits::OTHER,
    }
}

#[expect(clippy::disallowed_methods, reason = "files are what a build script is for")]
fn write(out: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    Ok(fs::write(out.join(name), bytes)?)
}
