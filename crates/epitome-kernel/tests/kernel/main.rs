//! The kernel's tests over whole conversations and chains of policies.

#[cfg(test)]
mod chain;
#[cfg(test)]
mod files;
#[cfg(test)]
mod thread;
