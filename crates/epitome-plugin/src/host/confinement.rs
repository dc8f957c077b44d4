//! What the kernel keeps programs from.
//!
//! Invariant: plain data. Found out by [`super::confinement`].

/// What the kernel keeps a program from that does not say that it needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessConfinement {
    /// Whether it cannot write files.
    pub files: bool,
    /// Whether it cannot reach other machines and programs, or leave its group of processes.
    pub network: bool,
}
