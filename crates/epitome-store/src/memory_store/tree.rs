//! The tree of messages in memory.
//!
//! Invariant: every message but a first one has its parent in the tree. Called by the journal in
//! memory.

use std::collections::BTreeMap;

use epitome_kernel::types::HistoryHash;
use epitome_kernel::{MessageRecord, StoreError};
use rustc_hash::FxHashMap;

use super::MemorySessionId;
use crate::lineage::MessageNode;

/// The number of a message, in the order of recording.
pub(super) type NodeId = i64;

/// A message and where it stands.
#[derive(Debug)]
pub(super) struct MemoryNode {
    pub(super) said: MessageRecord,
    pub(super) parent: Option<NodeId>,
    pub(super) session: MemorySessionId,
    pub(super) indexed: bool,
}

/// All messages of a scope.
#[derive(Debug, Default)]
pub(super) struct MemoryTree {
    pub(super) nodes: BTreeMap<NodeId, MemoryNode>,
    by_chain: FxHashMap<HistoryHash, BTreeMap<MemorySessionId, NodeId>>,
}

impl MemoryTree {
    /// The message of a session that a history ends with.
    pub(super) fn find(&self, session: MemorySessionId, chain: HistoryHash) -> Option<NodeId> {
        self.by_chain.get(&chain)?.get(&session).copied()
    }

    /// The sessions that hold a history, in the order of their beginnings.
    pub(super) fn holding(
        &self,
        chain: HistoryHash,
    ) -> impl DoubleEndedIterator<Item = MemorySessionId> {
        self.by_chain.get(&chain).into_iter().flat_map(|nodes| nodes.keys().copied())
    }

    /// The message of a session that a history ends with; `None` for the empty history.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] for a history that is not recorded.
    pub(super) fn end_of(
        &self,
        session: MemorySessionId,
        chain: HistoryHash,
    ) -> Result<Option<NodeId>, StoreError> {
        if chain == HistoryHash::default() {
            return Ok(None);
        }
        match self.find(session, chain) {
            Some(id) => Ok(Some(id)),
            None => {
                Err(StoreError::Damaged { what: format!("the history {chain} is not recorded") })
            }
        }
    }

    /// The place of a message.
    pub(super) fn place(&self, id: NodeId) -> u32 {
        self.nodes.get(&id).map_or(0, |node| node.said.place)
    }

    /// Adds a message.
    pub(super) fn add(&mut self, node: MemoryNode) -> NodeId {
        let id = self.nodes.last_key_value().map_or(0, |(last, _)| last + 1);
        self.by_chain.entry(node.said.chain).or_default().insert(node.session, id);
        self.nodes.insert(id, node);
        id
    }

    /// The messages on the way to one: at most `most` from the place `from` on.
    pub(super) fn history(&self, head: NodeId, from: u32, most: usize) -> Vec<MessageRecord> {
        let mut way = Vec::new();
        let mut at = Some(head);
        while let Some(node) = at.and_then(|id| self.nodes.get(&id)) {
            if node.said.place < from {
                break;
            }
            way.push(node);
            at = node.parent;
        }
        way.into_iter().rev().take(most).map(|node| node.said.clone()).collect()
    }

    /// The tree as bare numbers.
    pub(super) fn knots(&self) -> impl Iterator<Item = MessageNode> {
        self.nodes.iter().map(|(&id, node)| {
            let MemoryNode { parent, session, .. } = *node;
            MessageNode { id, parent, session, key: node.said.key }
        })
    }

    /// Deletes what a session said; gives how many messages that were.
    pub(super) fn bury(&mut self, session: MemorySessionId) -> usize {
        let before = self.nodes.len();
        self.nodes.retain(|_, node| node.session != session);
        self.by_chain.retain(|_, nodes| {
            nodes.remove(&session);
            !nodes.is_empty()
        });
        before - self.nodes.len()
    }
}
