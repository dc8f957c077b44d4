//! The plugin as a program.

mod own;

fn main() -> std::io::Result<()> {
    epitome_plugin::serve(&own::Own)
}
