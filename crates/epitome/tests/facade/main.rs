//! The facade, as hosts use it.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod background;
#[cfg(test)]
mod beside;
#[cfg(test)]
mod compacted;
#[cfg(test)]
mod configured;
#[cfg(test)]
mod counted;
#[cfg(test)]
mod dialogue;
#[cfg(test)]
mod files;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod front;
#[cfg(test)]
mod hops;
#[cfg(test)]
mod host;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod in_pieces;
#[cfg(test)]
mod input;
#[cfg(test)]
mod log_calls;
#[cfg(test)]
mod mark;
#[cfg(test)]
mod model;
#[cfg(test)]
mod own_store;
#[cfg(test)]
mod pause;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod restored;
#[cfg(all(unix, feature = "postgres"))]
#[cfg(test)]
mod statements;
#[cfg(test)]
mod strip;
#[cfg(test)]
mod talk;
