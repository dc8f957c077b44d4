//! The log over a real server: what every store promises, who writes at the same time, and a server that
//! goes away.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod few_connections;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod rebuild;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod there_and_back;
