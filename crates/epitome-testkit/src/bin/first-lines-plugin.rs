//! [`FirstLines`] as a program of its own, as an author writes one.

use epitome_testkit::FirstLines;

fn main() -> std::io::Result<()> {
    epitome_plugin::serve(&FirstLines)
}
