//! What the README and the examples tell people to type runs as it stands there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{self, Place};
use crate::shipped::README;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The lines of the blocks that begin like this.
pub(crate) fn commands<'t>(text: &'t str, fence: &str) -> Vec<&'t str> {
    let blocks = text.split(fence).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect()
}

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
    let commands = commands(README, "```sh tutorial\n");
    assert_eq!(commands.len(), 5, "{commands:?}");
    let place = examples();
    let said: Vec<_> = commands.iter().map(|command| typed(&place, "", command)).collect();
    // The edited number acts: the policy compresses more often than the one it extends.
    let row = |name: &str| {
        let row = said[4].lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let heading = said[4].lines().find(|line| line.trim_start().starts_with("profile")).unwrap();
    let from_end = heading.split_whitespace().rev().position(|word| word == "cuts").unwrap();
    let cuts = |name| row(name).iter().rev().nth(from_end).unwrap().parse::<u32>().unwrap();
    assert!(cuts("team") > cuts("ollm"), "{}", said[4]);
}

#[test]
fn the_policy_of_the_readme_is_the_one_of_the_example() {
    let policy = include_str!("../../examples/team-policy/policies/team/policy.lua");
    assert!(README.contains(&format!("```lua\n{policy}```")));
    assert_eq!(policy.lines().count(), 10);
}

#[test]
fn the_examples_do_what_they_say() {
    let place = examples();
    for example in ["team-policy", "ab-profiles", "plugin-in-python"] {
        let folder = format!("examples/{example}");
        let text = String::from_utf8(place.read(&format!("{folder}/README.md"))).unwrap();
        let commands = commands(&text, "```sh\n");
        assert!(!commands.is_empty());
        for command in commands {
            typed(&place, &folder, command);
        }
    }
    let kept = place.path("examples/ab-profiles/compared/soon");
    assert!(std::fs::read_dir(kept).unwrap().count() > 0);
}
