//! Encryption at rest for the files of SQLite: the key in its file, and a file system for the database
//! under which no file of a store holds a readable byte.
//!
//! A page of the database, and a page and each header of its write-ahead file, is encrypted by itself
//! with AES-256 in the mode XTS, under its own place. A file is as long as it would be without, and
//! whatever the database writes is written whole: nothing that was written before is written again. So
//! transactions, write-ahead files, copies and searches work as they do without, and so does what a
//! crash leaves.
//!
//! The invariant of the crate: what cannot be encrypted is not written. The only `unsafe` code of the
//! workspace is in `vfs`, since the database asks for a table of C functions.

mod key;
mod layout;
mod seal;
mod sealer;
mod vfs;
mod xts;

pub use key::{KeyFault, StoreKey};
pub use layout::SealedKind;
pub use seal::StoreSeal;
