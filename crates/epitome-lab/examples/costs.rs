//! What recordings cost under the default profile, at shares of each one's own size (half and all
//! of it unless told otherwise), beside what they cost without compression.
//!
//! ```sh
//! cargo run --release -p epitome-lab --example costs -- 0.5 1.0 examples/transcripts
//! ```

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;
use std::{env, fs};

use epitome_lab::{Recording, ReplaySetup, ReplayTotals, at_share, given, lost};

#[expect(clippy::disallowed_methods, reason = "it reads what the user names, and takes the time")]
fn main() -> io::Result<()> {
    let (mut shares, mut paths) = (Vec::new(), Vec::new());
    for argument in env::args_os().skip(1) {
        match argument.to_str().and_then(|text| text.parse().ok()) {
            Some(share) => shares.push(share),
            None => paths.push(PathBuf::from(argument)),
        }
    }
    if shares.is_empty() {
        shares.extend([0.5, 1.0]);
    }
    let mut out = io::stdout().lock();
    for share in shares {
        writeln!(out, "limit: {share} of each")?;
        writeln!(
            out,
            "{:44} {:>5} {:>8} {:>11} {:>11} {:>6} {:>5} {:>6} {:>5} {:>5} {:>5}  {:>6} {:>5}",
            "file",
            "turns",
            "limit",
            "raw",
            "cost",
            "ratio",
            "comp",
            "kept",
            "over",
            "ref",
            "off",
            "ms",
            "lost"
        )?;
        let (mut raw, mut cost, mut worst) = (0.0, 0.0, (0.0, String::new()));
        for file in given(&paths).files {
            let Ok(recording) = Recording::read(&fs::read(&file)?, None, None) else { continue };
            let from = Instant::now();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let name: String = name.chars().take(44).collect();
            let figures = match at_share(&recording, &ReplaySetup::default(), share) {
                Ok(figures) if figures.requests.turns > 0 => figures,
                Ok(_) => continue,
                Err(error) => {
                    writeln!(out, "{name:44} {error}")?;
                    continue;
                }
            };
            let ms = from.elapsed().as_millis();
            let ratio = row(&mut out, &name, &figures, ms)?;
            (raw, cost) = (raw + figures.cache.cost_uncompressed, cost + figures.cache.cost);
            if ratio > worst.0 {
                worst = (ratio, name);
            }
        }
        writeln!(out, "total: raw {raw:.0}, cost {cost:.0}, ratio {:.4}", cost / raw)?;
        writeln!(out, "worst: {:.3} {}\n", worst.0, worst.1)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, name: &str, it: &ReplayTotals, ms: u128) -> io::Result<f64> {
    let ratio = it.cache.cost / it.cache.cost_uncompressed;
    writeln!(
        out,
        "{name:44} {:5} {:8} {:11.0} {:11.0} {ratio:6.3} {:5} {:6.4} {:5} {:5} {:5}  {ms:6} {:5}",
        it.requests.turns,
        it.limit,
        it.cache.cost_uncompressed,
        it.cache.cost,
        it.requests.compressions,
        it.prefix_kept,
        it.requests.oversized,
        it.requests.refused.len(),
        it.offloaded.count + it.digested.count,
        lost(&it.must_keep.kept),
    )?;
    Ok(ratio)
}
