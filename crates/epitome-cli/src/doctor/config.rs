//! Checks of the configuration: its files, its variables, and every profile that they make.

use epitome::ConfigError;

use super::{DoctorFinding, Patient};
use crate::settings;

/// Whether the files and variables can be used, and which files were read.
pub(super) fn files(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "config";
    const REMEDY: &str = "correct it; `epitome config schema` says what may stand there";
    match &patient.fault {
        Some(ConfigError::Invalid(problems)) => {
            let fail = |problem: &epitome::ConfigProblem| {
                DoctorFinding::fail(ABOUT, problem.to_string(), REMEDY)
            };
            problems.iter().map(fail).collect()
        }
        Some(error) => {
            vec![DoctorFinding::fail(ABOUT, error.to_string(), "name a file that can be read")]
        }
        None => {
            let files = patient.config.files().iter().map(|path| path.display().to_string());
            let files: Vec<_> = files.collect();
            let found = match files.is_empty() {
                true => "no epitome.toml here or upwards, nor in your folder".to_owned(),
                false => format!("read {}", files.join(", then ")),
            };
            vec![DoctorFinding::ok(ABOUT, found)]
        }
    }
}

/// Whether the table of prices can be read, where one is named.
pub(super) fn prices(patient: &Patient) -> Vec<DoctorFinding> {
    let Err(error) = settings::prices(&patient.config) else { return Vec::new() };
    vec![DoctorFinding::fail("config", error.line(), "correct the table, or name another file")]
}

/// Whether files and variables say anything by an old name.
pub(super) fn old_names(patient: &Patient) -> Vec<DoctorFinding> {
    let finding = |old: &epitome::ConfigProblem| {
        let old = old.to_string();
        let (found, _) = old.split_once("; ").unwrap_or((&old, ""));
        DoctorFinding::warn("config", found, "write the new name")
    };
    patient.config.renamed().map(finding).collect()
}

/// What came with the project and does not run, while another one of its name answers.
pub(super) fn untrusted(patient: &Patient) -> Vec<DoctorFinding> {
    let finding = |passed: &epitome::ConfigProblem| {
        let passed = passed.to_string();
        let (found, remedy) = passed.split_once("; ").unwrap_or((&passed, "read it"));
        DoctorFinding::warn("trust", found, remedy)
    };
    patient.config.passed_over().map(finding).collect()
}

/// Whether variables that begin as ours do mean anything.
pub(super) fn variables(patient: &Patient) -> Vec<DoctorFinding> {
    let finding = |name: &String| {
        let found = format!("{name} is set and says nothing to this program");
        DoctorFinding::warn("variable", found, "unset it, unless another program reads it")
    };
    patient.config.unused().iter().map(finding).collect()
}

/// Whether each profile can be used, the chosen one above all.
pub(super) fn profiles(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "profile";
    let config = &patient.config;
    let fail = |error: ConfigError| {
        let remedy = match &error {
            ConfigError::Invalid(_) => "correct it; `epitome config show` shows what is in force",
            _ => "choose one of these with `--profile`",
        };
        DoctorFinding::fail(ABOUT, error.to_string(), remedy)
    };
    let chosen = match config.profile_in_use() {
        Ok(profile) => {
            let hash: String = profile.config().chars().take(11).collect();
            DoctorFinding::ok(ABOUT, format!("{}, options {hash}", profile.name()))
        }
        Err(error) => fail(error),
    };
    let others = config.profiles().into_iter().filter(|name| name != config.chosen_name());
    let others = others.filter_map(|name| config.profile(&name).err().map(fail));
    let doubts = config.profiles().into_iter().filter_map(|name| config.warnings(&name).ok());
    let mut doubts: Vec<_> = doubts.flatten().map(|doubt| doubt.to_string()).collect();
    doubts.sort();
    doubts.dedup();
    let doubts = doubts.iter().map(|doubt| {
        let (found, remedy) = doubt.split_once("; ").unwrap_or((doubt, "choose another name"));
        DoctorFinding::warn(ABOUT, found, remedy)
    });
    [chosen].into_iter().chain(others).chain(doubts).collect()
}
