//! The shipped policies, driven through the kernel in whole conversations.

#[cfg(test)]
mod chats;
#[cfg(test)]
mod client;
#[cfg(test)]
mod default;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod goals;
#[cfg(test)]
mod ollm;
#[cfg(test)]
mod recent;
#[cfg(test)]
mod staged;
#[cfg(test)]
mod system;
#[cfg(test)]
mod tenfold;
#[cfg(test)]
mod tiered;
#[cfg(test)]
mod watermark;
