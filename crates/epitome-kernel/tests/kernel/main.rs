//! The kernel's tests over whole conversations.

#[cfg(test)]
mod digest;
#[cfg(test)]
mod help;
#[cfg(test)]
mod live;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod run;
#[cfg(test)]
mod size;
#[cfg(test)]
mod tail;
#[cfg(test)]
mod thread;
