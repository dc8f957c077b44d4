//! Lays out the vocabularies that the features ask for; without any there is nothing to do.

#[cfg(feature = "vocabularies")]
#[path = "build/vocabularies.rs"]
mod vocabularies;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in ["build.rs", "build/vocabularies.rs", "src/hash.rs", "src/class/bits.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
    #[cfg(feature = "vocabularies")]
    vocabularies::lay_out()?;
    Ok(())
}
