//! Where a comparison keeps its papers: prompts, stores, the records of what is finished, and how
//! far it is.
//!
//! Invariant: a record is one whole line, written after everything it speaks of; a torn line is no
//! record. So a comparison that was interrupted goes on where it stood.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use epitome::{SessionArchive, StoreError};
use epitome_lab::{EvalHost, EvalRow};
use serde::{Deserialize, Serialize};

use crate::clock::{now, since};
use crate::fault::{self, CliError};
use crate::figure::middle;
use crate::files;
use crate::screen::{Screen, To};
use crate::text::{counted, grouped, plain};

/// The records in a folder of outputs.
const RECORDS: &str = "records.jsonl";

/// One finished pair.
#[derive(Serialize, Deserialize)]
struct FinishedPair {
    key: String,
    /// Whether there is a prompt.
    prompt: bool,
    row: EvalRow,
}

/// Makes an empty store at a path.
pub(crate) type OpenStore = fn(&Path) -> Result<Arc<dyn SessionArchive>, StoreError>;

/// The papers of one comparison.
pub(crate) struct ComparisonFiles {
    outputs: Option<PathBuf>,
    open: OpenStore,
    known: HashMap<String, FinishedPair>,
    records: Option<Mutex<File>>,
    start: Instant,
    screen: Mutex<Screen>,
}

impl ComparisonFiles {
    /// A desk with the records that are there, and folders for these profiles.
    pub(crate) fn new<'a>(
        outputs: Option<PathBuf>,
        resume: Option<&Path>,
        profiles: impl Iterator<Item = &'a str>,
        open: OpenStore,
    ) -> Result<Self, CliError> {
        if let Some(folder) = &outputs {
            for profile in profiles {
                files::make_folder(&folder.join(profile))?;
            }
        }
        let beside = outputs.as_ref().map(|folder| folder.join(RECORDS));
        let path = resume.map(Path::to_owned).or(beside);
        let mut known = HashMap::new();
        let mut records = None;
        if let Some(path) = path {
            let (before, mut file) = files::append(&path)?;
            // A line that was torn is no record, and nobody's fault.
            let whole = before.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
            let mut foreign = 0;
            let lines = before[..whole].split(|byte| *byte == b'\n');
            for line in lines.filter(|line| !line.is_empty()) {
                match serde_json::from_slice::<FinishedPair>(line) {
                    Ok(record) => drop(known.insert(record.key.clone(), record)),
                    Err(_) => foreign += 1,
                }
            }
            let shown = path.display();
            match (known.is_empty(), foreign) {
                (_, 0) => {}
                (true, _) => {
                    let line = format!("{shown}: holds no records of a comparison; name another");
                    return Err(CliError::usage(line));
                }
                (false, _) => {
                    let lines = counted(foreign, "line");
                    fault::note(&format!(
                        "{shown}: {lines} not whole, of pairs that are made anew"
                    ));
                }
            }
            if before.last().is_some_and(|last| *last != b'\n') {
                // A line that was torn ends here.
                file.write_all(b"\n").map_err(|error| files::unwritable(&path, &error))?;
            }
            records = Some(Mutex::new(file));
        }
        let screen = Mutex::new(Screen::new(To::Err, false));
        Ok(Self { outputs, open, known, records, start: now(), screen })
    }

    /// Shows how far it is, where it is a terminal.
    pub(crate) fn shown(self, live: bool) -> Self {
        Self { screen: Mutex::new(Screen::new(To::Err, live)), ..self }
    }

    /// Takes the bar away. Nobody is left to tell where that fails.
    pub(crate) fn end(&self) {
        drop(self.screen.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }

    fn file(&self, profile: &str, id: &str, ending: &str) -> Option<PathBuf> {
        Some(self.outputs.as_ref()?.join(profile).join(format!("{id}{ending}")))
    }
}

impl EvalHost for ComparisonFiles {
    fn store(&self, profile: &str, id: &str) -> Result<Arc<dyn SessionArchive>, StoreError> {
        (self.open)(&self.file(profile, id, ".store.db").unwrap_or_default())
    }

    fn known(&self, key: &str, profile: &str, id: &str) -> Option<EvalRow> {
        let record = self.known.get(key)?;
        let there = self.file(profile, id, ".json").is_none_or(|file| file.exists());
        (there || !record.prompt).then(|| record.row.clone())
    }

    fn done(&self, key: &str, row: &EvalRow, prompt: Option<&[u8]>) -> Result<(), String> {
        let fault = |fault: CliError| fault.line().to_owned();
        if let (Some(file), Some(prompt)) = (self.file(&row.profile, &row.id, ".json"), prompt) {
            files::write(&file, prompt).map_err(fault)?;
        }
        let Some(records) = &self.records else { return Ok(()) };
        let record =
            FinishedPair { key: key.to_owned(), prompt: prompt.is_some(), row: row.clone() };
        let line = serde_json::to_string(&record).map_err(|error| error.to_string())? + "\n";
        let mut file = records.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|error| format!("the records: {error}"))
    }

    fn progress(&self, done: usize, of: usize, id: &str) {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        if screen.is_due() || done == of {
            let width = screen.columns().saturating_sub(1);
            // That it cannot be shown is no failure of the comparison.
            drop(screen.draw(&block(done, of, id, since(self.start), width)));
        }
    }

    fn now(&self) -> f64 {
        since(self.start)
    }
}

/// The lines of the bar: pairs and time, and the conversation that was done last.
fn block(done: usize, of: usize, id: &str, elapsed_ms: f64, width: usize) -> Vec<String> {
    const CELLS: usize = 24;
    let full = done * CELLS / of.max(1);
    let bar = "█".repeat(full) + &"░".repeat(CELLS - full);
    let all = counted(of as u64, "comparison");
    let line = format!("{bar} {} of {all}, {:.0} s", grouped(done as u64), elapsed_ms / 1000.0);
    vec![middle(&line, width), middle(&plain(id), width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fits() {
        let check = |done, width, expected: &str| {
            let lines = block(done, 8, "a-long-name-of-a-case", 2100.0, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            assert_eq!(lines[0], expected);
        };
        check(4, 79, "████████████░░░░░░░░░░░░ 4 of 8 comparisons, 2 s");
        check(8, 20, "█████████…isons, 2 s");
    }
}
