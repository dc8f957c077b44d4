//! Replays and scans as a host would make them, over synthetic conversations and the recordings of
//! the repository.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod demands;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod scan;
#[cfg(test)]
mod talk;
