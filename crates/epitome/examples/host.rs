//! A whole host: compresses the conversation on standard input to a quarter, and asks for what
//! left it.

use std::io::{Read, Write, stdin, stdout};
use std::sync::Arc;

use epitome::{Compressor, Memory, Store, Target, VocabularyCounter, scope};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut conversation = Vec::new();
    stdin().read_to_end(&mut conversation)?;

    let (store, scope) = (Arc::new(Memory::new()), scope("default"));
    let compressor =
        Compressor::builder().target(Target::Ratio(4.0)).store(store.clone(), &scope).build();
    let compressed = compressor.compress(&conversation).await?;

    let (before, after) = (compressed.report.before.tokens, compressed.report.after.tokens);
    writeln!(stdout(), "{before} tokens became {after}; send `compressed.bytes`")?;
    for left in store.search(&scope, "what failed?", 200, &VocabularyCounter::default())? {
        writeln!(stdout(), "{}: {}", left.source, left.text)?;
    }
    Ok(())
}
