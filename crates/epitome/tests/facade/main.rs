//! The facade, as hosts use it.

#[cfg(test)]
mod host;
