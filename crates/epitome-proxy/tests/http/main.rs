//! The proxy over real sockets: what an upstream sees, and what comes back.

#[cfg(test)]
mod fleet;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod pass;
#[cfg(test)]
mod refuse;
mod routes;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod talk;
