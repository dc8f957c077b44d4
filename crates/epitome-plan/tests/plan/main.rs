//! Plans over whole conversations: how they are made, and what must hold of each.

#[cfg(test)]
mod assembly;
#[cfg(test)]
mod compacted;
#[cfg(test)]
mod demands;
#[cfg(test)]
mod digest;
#[cfg(test)]
mod front;
#[cfg(test)]
mod help;
#[cfg(test)]
mod input;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod live;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod run;
#[cfg(test)]
mod size;
#[cfg(test)]
mod state;
#[cfg(test)]
mod strip;
#[cfg(test)]
mod tail;
mod turn;
#[cfg(test)]
mod wording;
