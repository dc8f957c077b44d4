//! What a policy says to its author, and what is said of one that is wrong.

use crate::policy::{TEAM, brought, done, edit, talk};

/// What came with the project, untrusted or broken, hides nothing, and its author is told all the
/// same: once, among the turns of a replay and as a warning of what compresses.
#[test]
fn a_broken_policy_of_a_shipped_name_is_passed_over_and_named() {
    let place = talk();
    let told = |why: &str| {
        let played = done(&place, "replay talk.json --profile ollm --context-size 8000");
        let line = "compress talk.json --profile ollm --ratio 4 --output out.json";
        let compressed = place.run(line.split(' '));
        assert_eq!(compressed.code, 0, "{}", compressed.err);
        let passed = "is passed over, and the shipped one of that name answers";
        for (said, begins) in [(played.text(), "turn 1 "), (&compressed.err, "epitome: warning: ")]
        {
            let lines: Vec<_> = said.lines().filter(|line| line.contains(passed)).collect();
            let is_told = |line: &&&str| line.starts_with(begins) && line.contains(why);
            assert_eq!((lines.len(), lines.iter().filter(is_told).count()), (1, 1), "{said}");
        }
    };
    brought(&place, "ollm", "--- @api 2\nreturn {\n");
    told("ollm/policy.lua: ");
    done(&place, "trust .epitome/policies/ollm -q");
    let ran = place.run(["policy", "check", "ollm"]);
    assert_eq!(ran.code, 6, "{}", ran.text());
    assert!(ran.text().contains("ollm/policy.lua:3: "), "{}", ran.text());
    told("ollm/policy.lua:3: ");
}

/// A policy whose prompts would be compressed to more than they take is told so, and goes on.
#[test]
fn bounds_that_contradict_each_other_are_named() {
    let place = talk();
    done(&place, "policy new team --from ollm -q");
    edit(&place, "  return bounds\n", "  bounds.target = bounds.soft + 1\n  return bounds\n");
    let tested = place.run(["policy", "test", "team", "-q"]);
    assert_eq!(tested.code, 6);
    let named = "team: `budgets`: `target` is ";
    assert!(tested.text().contains(named), "{}", tested.text());
    let played = done(&place, "replay talk.json --profile team --context-size 3000 --json -q");
    assert!(played.text().contains(named), "{}", played.text());
}

/// What a policy prints reaches whoever writes it, in every command that runs it: on standard error,
/// with file and line, bounded, and never among the data.
#[test]
fn what_a_policy_says_reaches_its_author() {
    let place = talk();
    done(&place, "policy new team -q");
    let policy = "--- @api 2\nlocal function budgets(job)\n  print(\"seen\", 1 + 1)\n  \
                  ep.log(\"warn\", \"look here\")\n  ep.log(\"debug\", \"in detail\")\nend\n\
                  return { extends = \"default\", budgets = budgets }\n";
    place.write(TEAM, policy);
    for line in [
        "replay talk.json --profile team --context-size 8000",
        "compress talk.json --profile team --ratio 4 --output out.json",
        "ab talk.json --profiles team --context-size 8000",
        "policy bench team",
        "policy trace talk.json --profile team --context-size 8000",
    ] {
        let ran = place.run(line.split(' '));
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        for said in [
            "epitome: info: policy team (policy.lua:3): seen 2",
            "epitome: warn: policy team (policy.lua:4): look here",
        ] {
            assert!(ran.err.contains(said), "{line}: {}", ran.err);
            assert!(!ran.text().contains("look here"), "{line}: {}", ran.text());
        }
        assert!(!ran.err.contains("in detail"), "{line}: {}", ran.err);
    }
    // However much it says.
    place.write(
        TEAM,
        policy.replace("print(", "for _ = 1, 3000 do print(").replace("+ 1)", "+ 1) end"),
    );
    let ran =
        place.run("compress talk.json --profile team --ratio 4 --output more.json".split(' '));
    let lines = ran.err.lines().filter(|line| line.contains("policy team (")).count();
    assert!((1000..=1010).contains(&lines), "{lines}");
    assert!(ran.err.contains("more than 1000 lines; the rest is left out"));
}

/// A kind of finding that there is not is no finding: it is said, with the one that was meant.
#[test]
fn a_finding_of_no_kind_is_said() {
    let place = talk();
    done(&place, "policy new team -q");
    let policy = "--- @api 2\nlocal function goals(job)\n  return { { kind = \"milestones\", text = \
                  \"a\" } }\nend\nreturn { extends = \"default\", goals = goals }\n";
    place.write(TEAM, policy);
    let ran = place.run("replay talk.json --profile team --context-size 8000 --json".split(' '));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.text().contains("did you mean `milestone`?"), "{}", ran.text());
}
