//! Policies from elsewhere: added, locked, trusted, updated and removed.

use std::process::Command;

use crate::program::{Place, Ran};

/// A policy, which says in which version it is.
fn policy(version: &str) -> String {
    format!(
        "--- @api 2\nlocal policy = {{ extends = \"ollm\", doc = \"{version}.\" }}\n\
         function policy.trigger(job) return ep.next(job) end\nreturn policy\n"
    )
}

/// The lock of the project.
const LOCK: &str = "project/.epitome/policies.lock";

/// A project, and a repository with a policy in it.
struct Shared(Place);

impl Shared {
    fn new() -> Self {
        let place = Place::new();
        for folder in ["project", "origin/strict", ".epitome-none"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        place.write("project/epitome.toml", "");
        place.write("project/in.json", r#"[{"role":"user","content":"Hello there."}]"#);
        let shared = Self(place);
        shared.git(&["init", "-q", "-b", "main"]);
        shared.commit("First", "v1");
        shared
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.example"]).args(args);
        git.current_dir(self.0.path("origin")).env("HOME", self.0.path(""));
        let ran = git.output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Commits a version of the policy under a tag.
    fn commit(&self, version: &str, tag: &str) {
        self.0.write("origin/strict/policy.lua", policy(version));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", version]);
        self.git(&["tag", "-f", tag]);
    }

    fn source(&self, rev: &str) -> String {
        format!("file://{}@{rev}#strict", self.0.path("origin").display())
    }

    #[track_caller]
    fn run(&self, line: &str, code: i32) -> Ran {
        let mut command = self.0.command(line.split(' '));
        command.current_dir(self.0.path("project"));
        let ran = Ran::of(command, b"");
        assert_eq!(ran.code, code, "{line}: {}{}", String::from_utf8_lossy(&ran.out), ran.err);
        ran
    }

    /// Whether the policy runs; where it does not, why not.
    #[track_caller]
    fn check_runs(&self, name: &str, refused: Option<&str>) {
        let line = format!("compress --profile {name} --context-size 8192 -q in.json");
        let ran = self.run(&line, if refused.is_some() { 3 } else { 0 });
        assert!(refused.is_none_or(|why| ran.err.contains(why)), "{}", ran.err);
    }

    fn listed(&self) -> String {
        String::from_utf8(self.run("policy list", 0).out).unwrap()
    }
}

/// However many programs change the lock at the same time, it names what all of them added.
#[test]
fn what_is_added_at_once_is_all_locked() {
    let shared = Shared::new();
    let names: Vec<_> = (0..8).map(|at| format!("team{at}")).collect();
    let started: Vec<_> = names
        .iter()
        .map(|name| {
            let line = format!("policy add ../origin/strict --as {name} -q");
            let mut command = shared.0.command(line.split(' '));
            command.current_dir(shared.0.path("project")).spawn().unwrap()
        })
        .collect();
    for child in started {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let lock = String::from_utf8(shared.0.read("project/.epitome/policies.lock")).unwrap();
    let locked = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    let locked: Vec<_> = locked.map(|name| name.trim_matches('"')).collect();
    assert_eq!(locked, names);
}

#[test]
fn a_policy_of_a_repository_runs_once_it_is_trusted() {
    let shared = Shared::new();
    let first = shared.git(&["rev-parse", "HEAD"]);
    let added = shared.run(&format!("policy add {}", shared.source("v1")), 0);
    assert!(String::from_utf8_lossy(&added.out).contains("doc = \"First.\""));
    shared.check_runs("strict", Some("was added from elsewhere and is not trusted"));
    let lock = String::from_utf8(shared.0.read("project/.epitome/policies.lock")).unwrap();
    assert!(lock.contains(&format!("revision = \"{first}\"")) && lock.contains("\"b3:"), "{lock}");
    shared.run("trust", 0);
    shared.check_runs("strict", None);
    assert!(shared.listed().contains("as locked"), "{}", shared.listed());

    // What is changed here does not run, is seen, and is not replaced unasked.
    let edited = policy("Edited");
    shared.0.write("project/.epitome/policies/strict/policy.lua", &edited);
    shared.check_runs("strict", Some("not what you trusted any more"));
    assert!(shared.listed().contains("edited"), "{}", shared.listed());
    let trusted = shared.run("trust", 0);
    let told = String::from_utf8(trusted.out).unwrap();
    assert!(told.contains("-local policy = { extends = \"ollm\", doc = \"First.\" }"), "{told}");
    assert!(told.contains("+local policy = { extends = \"ollm\", doc = \"Edited.\" }"), "{told}");
    assert!(told.contains("It is not what its lock says."), "{told}");
    shared.check_runs("strict", None);
    for line in ["policy update", "policy update --locked", "policy remove strict"] {
        assert!(shared.run(line, 2).err.contains("give them up with `--discard`"), "{line}");
    }
    assert_eq!(shared.0.read("project/.epitome/policies/strict/policy.lua"), edited.as_bytes());

    // The tag moves: the lock holds, and an update shows the change and asks again.
    shared.commit("Second", "v1");
    shared.run("policy update --locked --discard", 0);
    shared.run("trust -q", 0);
    shared.check_runs("strict", None);
    let updated = shared.run("policy update strict", 0);
    let told = String::from_utf8(updated.out).unwrap();
    assert!(told.contains("First.") && told.contains("Second."), "{told}");
    shared.check_runs("strict", Some("not what you trusted any more"));
    shared.run("policy remove strict", 0);
    assert!(!shared.0.path("project/.epitome/policies/strict").exists());
    assert!(!shared.listed().contains("strict"), "{}", shared.listed());
}

/// What one machine locked another one gets, or nothing.
#[test]
fn a_lock_is_fetched_exactly_or_not_at_all() {
    let shared = Shared::new();
    shared.run(&format!("policy add {} --as team -q", shared.source("main")), 0);
    shared.commit("Second", "v2");
    std::fs::remove_dir_all(shared.0.path("project/.epitome/policies")).unwrap();
    let listed = shared.run("policy list", 0);
    assert!(listed.err.contains("`epitome policy update --locked` fetches it"), "{}", listed.err);
    shared.run("policy update --locked", 0);
    let file = "project/.epitome/policies/team/policy.lua";
    assert_eq!(shared.0.read(file), policy("First").as_bytes());

    let path = "project/.epitome/policies.lock";
    let lock = String::from_utf8(shared.0.read(path)).unwrap();
    let at = lock.find("b3:").unwrap() + 3;
    let other = if lock[at..].starts_with('0') { "1" } else { "0" };
    shared.0.write(path, format!("{}{other}{}", &lock[..at], &lock[at + 1..]));
    let refused = shared.run("policy update --locked --discard", 6);
    assert!(refused.err.contains("policy.lua differ; nothing was changed"), "{}", refused.err);
    assert_eq!(shared.0.read(file), policy("First").as_bytes());
}

/// One of the user's own needs no trust, unless it came from elsewhere.
#[test]
fn what_is_added_for_all_projects_is_trusted_by_itself() {
    let shared = Shared::new();
    let own = ".config/epitome/policies/own";
    std::fs::create_dir_all(shared.0.path(own)).unwrap();
    shared.0.write(&format!("{own}/policy.lua"), policy("Own"));
    shared.run("policy add ../origin/strict --user", 0);
    shared.check_runs("own", None);
    shared.check_runs("strict", Some("was added from elsewhere and is not trusted"));
    shared.run(&format!("trust {}", shared.0.path(".config/epitome/policies/strict").display()), 0);
    shared.check_runs("strict", None);
    assert!(shared.0.path(".config/epitome/policies.lock").is_file());
}

/// A clone may bring a link and a lock of its own: nothing of them is written anywhere else, and nothing takes
/// the place of what is shipped.
#[cfg(unix)]
#[test]
fn what_came_with_a_project_leads_nowhere_else() {
    let shared = Shared::new();
    shared.run("policy add ../origin/strict", 0);
    let locked = String::from_utf8(shared.0.read(LOCK)).unwrap();
    let own = shared.0.path("own");
    std::fs::create_dir_all(own.join("policies")).unwrap();
    let holds_nothing = || std::fs::read_dir(own.join("policies")).unwrap().next().is_none();
    for (link, target) in [(".epitome/policies", own.join("policies")), (".epitome", own.clone())] {
        std::fs::remove_dir_all(shared.0.path("project/.epitome")).unwrap_or_default();
        std::fs::create_dir_all(shared.0.path("project").join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&target, shared.0.path("project").join(link)).unwrap();
        shared.0.write(LOCK, &locked);
        let lines = [
            "policy update --locked",
            "policy update",
            "policy add ../origin/strict",
            "policy new x",
        ];
        for line in lines {
            let ran = shared.run(line, 2);
            assert!(ran.err.contains("leads out of the project"), "{link} {line}: {}", ran.err);
            assert!(holds_nothing(), "{link} {line}");
        }
        std::fs::remove_file(shared.0.path("project").join(link)).unwrap();
    }
    // A link that stays in the project is one of its folders.
    std::fs::create_dir_all(shared.0.path("project/.epitome")).unwrap();
    std::fs::create_dir_all(shared.0.path("project/house")).unwrap();
    let inside = shared.0.path("project/.epitome/policies");
    std::os::unix::fs::symlink("../house", inside).unwrap();
    shared.0.write(LOCK, &locked);
    shared.run("policy update --locked", 0);
    assert!(shared.0.path("project/house/strict/policy.lua").exists());
    for name in ["ollm", "lib", "types"] {
        shared.0.write(LOCK, locked.replace("\"strict\"", &format!("\"{name}\"")));
        let ran = shared.run("policy update", 2);
        assert!(ran.err.contains(&format!("`{name}` is ")), "{name}: {}", ran.err);
        assert!(!shared.0.path("project/house").join(name).exists(), "{name}");
    }
}

#[test]
fn what_cannot_be_added_is_said_and_leaves_nothing() {
    let shared = Shared::new();
    let check = |line: &str, code: i32, expected: &str| {
        let ran = shared.run(&format!("policy add {line}"), code);
        assert!(ran.err.contains(expected), "{line}: {}", ran.err);
        assert!(!shared.0.path("project/.epitome/policies.lock").exists(), "{line}");
    };
    check("../nowhere", 3, "../nowhere: no such folder");
    check("http://host/p@v1", 2, "expected a URL of https, ssh or file");
    check("https://host/p", 2, "names no revision; expected `URL@REV`");
    check(&shared.source("v9"), 3, "the repository has no such revision");
    check(&shared.source("v1").replace("#strict", "#no"), 3, "has no folder `no`");
    check(&shared.source("v1").replace("#strict", ""), 3, "has no `policy.lua`");
    check("../origin/strict --as ollm", 2, "`ollm` is a shipped policy");
    check("../origin/strict --as a.b", 2, "`a.b` is no name of a policy");
    #[cfg(unix)]
    {
        let link = shared.0.path("origin/strict/link");
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        check("../origin/strict", 3, "is no plain file");
        shared.git(&["add", "-A"]);
        shared.git(&["commit", "-qm", "link"]);
        check(&shared.source("main"), 3, "is a link or a submodule");
    }
    let mut command = shared.0.command(["policy", "add", &*shared.source("v1")]);
    command.current_dir(shared.0.path("project")).env("PATH", shared.0.path("bin"));
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("there is no program `git`"), "{}", ran.err);
}
