//! The stores, seen through the port: one suite for both, and what holds for files alone.

#[cfg(test)]
mod act;
#[cfg(test)]
mod answer;
#[cfg(test)]
mod archive;
#[cfg(test)]
mod branches;
#[cfg(test)]
mod common;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod file;
#[cfg(test)]
mod heirs;
#[cfg(test)]
mod in_use;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod laws;
mod lesson;
#[cfg(test)]
mod portions;
#[cfg(test)]
mod rebuild;
#[cfg(test)]
mod salvage;
#[cfg(feature = "seal")]
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod transfer;
