//! What a compression holds in memory. A program of its own, since its allocator counts for all of it.

#[cfg(test)]
mod peak;
