//! What the manual and the examples tell people to type runs as it stands there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::pages::{ROOT, all_blocks, block_commands, fenced};
use crate::program::{self, Place};

/// A place with the examples in it.
pub(crate) fn examples() -> Place {
    let place = Place::new();
    let source = Path::new(ROOT).join("examples");
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let copy = place.path("examples").join(path.strip_prefix(&source).unwrap());
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(path, copy).unwrap();
        }
    }
    place
}

/// What a shell prints for a command, which succeeds.
pub(crate) fn typed(place: &Place, folder: &str, command: &str) -> String {
    let programs = program::path();
    let path = format!("{}:/usr/bin:/bin", programs.parent().unwrap().display());
    let ran = Command::new("sh")
        .args(["-c", command])
        .current_dir(place.path(folder))
        .env_clear()
        .envs([("HOME", place.path("")), ("PATH", path.into())])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    assert!(ran.status.success(), "`{command}`: {said}");
    said
}

#[test]
fn five_commands_lead_from_nothing_to_a_changed_plan() {
    let commands = block_commands("sh tutorial");
    assert_eq!(commands.len(), 5, "{commands:?}");
    let place = examples();
    let said: Vec<_> = commands.iter().map(|command| typed(&place, "", command)).collect();
    // The edited number acts: the policy compresses more often than the one it extends.
    let row = |name: &str| {
        let row = said[4].lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let heading = said[4].lines().find(|line| line.trim_start().starts_with("profile")).unwrap();
    let from_end =
        heading.split_whitespace().rev().position(|word| word == "compressions").unwrap();
    let cuts = |name| row(name).iter().rev().nth(from_end).unwrap().parse::<u32>().unwrap();
    assert!(cuts("team") > cuts("ollm"), "{}", said[4]);
}

#[test]
fn the_policy_of_the_manual_is_the_one_of_the_example() {
    let policy = include_str!("../../examples/team-policy/policies/team/policy.lua");
    assert!(all_blocks("lua").iter().any(|block| block == policy));
    assert_eq!(policy.lines().count(), 10);
}

#[test]
fn the_examples_do_what_they_say() {
    let place = examples();
    let mut ran = Vec::new();
    for folder in std::fs::read_dir(place.path("examples")).unwrap() {
        let example = folder.unwrap().file_name().into_string().unwrap();
        let folder = format!("examples/{example}");
        let text = String::from_utf8(place.read(&format!("{folder}/README.md"))).unwrap();
        let lines = fenced(&text, "sh").into_iter().flat_map(str::lines);
        // Cargo is run where it may build: the members of the workspace have tests of their own.
        let commands: Vec<_> = lines.filter(|line| line.starts_with("epitome ")).collect();
        commands.iter().for_each(|command| drop(typed(&place, &folder, command)));
        ran.extend((!commands.is_empty()).then_some(example));
    }
    ran.sort();
    assert_eq!(ran, ["ab-profiles", "plugin-in-python", "team-policy"]);
    let kept = place.path("examples/ab-profiles/compared/soon");
    assert!(std::fs::read_dir(kept).unwrap().count() > 0);
}
