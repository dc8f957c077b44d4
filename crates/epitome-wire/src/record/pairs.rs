//! Brings calls and results together (RULES 101, 102 and 104).
//!
//! Invariant: in the outcome every reply with calls is followed at once by exactly their results,
//! in the order of the calls, and no call id occurs twice. Called by `transcribe`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use epitome_types::Role;

use super::{Native, RecordedMessage, RecordedPiece, RecordedResult};

/// The turns in an order that providers accept; each result is a tool turn of its own.
pub(super) fn pair(turns: Vec<RecordedMessage<'_>>) -> Vec<RecordedMessage<'_>> {
    let mut pairing = Pairing::default();
    turns.into_iter().for_each(|turn| pairing.add(turn));
    pairing.close();
    pairing.out
}

#[derive(Default)]
struct Pairing<'a> {
    out: Vec<RecordedMessage<'a>>,
    /// The last reply; its results are still coming in.
    reply: Option<RecordedMessage<'a>>,
    answers: Vec<(Option<Cow<'a, str>>, RecordedResult<'a>)>,
    /// What was said while the results came in.
    meanwhile: Vec<RecordedMessage<'a>>,
    /// The ids in use, and how often each was asked for: some clients count from 1 in each reply.
    used: BTreeMap<String, u32>,
}

impl<'a> Pairing<'a> {
    fn add(&mut self, mut turn: RecordedMessage<'a>) {
        if turn.role == Role::Assistant {
            self.close();
            self.reply = Some(turn);
            return;
        }
        let mut rest = Vec::new();
        for piece in turn.pieces {
            match piece {
                RecordedPiece::Answer(answer) => self.answers.push((turn.at.clone(), answer)),
                other => rest.push(other),
            }
        }
        if !rest.is_empty() {
            turn.pieces = rest;
            self.meanwhile.push(turn);
        }
    }

    /// Settles the last reply: calls without result go, then its results follow it.
    fn close(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        if let Some(mut reply) = self.reply.take() {
            let mut results = Vec::new();
            let pieces = std::mem::take(&mut reply.pieces);
            reply.pieces = pieces
                .into_iter()
                .filter_map(|piece| {
                    let RecordedPiece::Call(mut call) = piece else { return Some(piece) };
                    let found = answers.iter().position(|(_, answer)| answer.call == call.id)?;
                    let (at, mut answer) = answers.remove(found);
                    call.id = self.unique(call.id);
                    answer.call.clone_from(&call.id);
                    results.push(RecordedMessage {
                        role: Role::Tool,
                        at,
                        pieces: vec![RecordedPiece::Answer(answer)],
                    });
                    Some(RecordedPiece::Call(call))
                })
                .collect();
            drop_halves(&mut reply.pieces);
            trim_reasoning(&mut reply.pieces);
            if !reply.pieces.is_empty() {
                self.out.push(reply);
                self.out.append(&mut results);
            }
        }
        self.out.append(&mut self.meanwhile);
    }

    /// An id in the letters that every provider takes, and not used before.
    fn unique(&mut self, id: Cow<'a, str>) -> Cow<'a, str> {
        let odd = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-';
        let plain = if id.is_empty() { "call".into() } else { id.replace(odd, "_") };
        let mut unique = plain.clone();
        while self.used.contains_key(&unique) {
            let asked = self.used.entry(plain.clone()).or_insert(1);
            *asked += 1;
            unique = format!("{plain}_{asked}");
        }
        self.used.insert(unique.clone(), 1);
        Cow::Owned(unique)
    }
}

/// Calls of the provider's side that were cut off before their result (RULES 103).
fn drop_halves(pieces: &mut Vec<RecordedPiece<'_>>) {
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    let half = |piece: &RecordedPiece<'_>| match piece {
        RecordedPiece::Native { kind: Native::Half { id }, .. } => Some(id.clone().into_owned()),
        _ => None,
    };
    for id in pieces.iter().filter_map(half) {
        *count.entry(id).or_default() += 1;
    }
    pieces.retain(|piece| half(piece).is_none_or(|id| count.get(&id) == Some(&2)));
}

/// Reasoning that nothing follows has lost its reply (RULES 107).
fn trim_reasoning(pieces: &mut Vec<RecordedPiece<'_>>) {
    while matches!(pieces.last(), Some(RecordedPiece::Native { kind: Native::Reasoning, .. })) {
        pieces.pop();
    }
}
