//! Policies as a host uses them: loaded, put into a chain, asked, changed.

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod links;
#[cfg(test)]
mod old_names;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod spoken;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod support;
