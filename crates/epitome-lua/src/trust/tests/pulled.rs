//! Folders of the user's own that lie in a repository: what came with a pull, and what did not.

use super::*;

/// Whether there is a git to ask; without one all is doubted, and nothing here can be seen.
fn has_git() -> bool {
    std::process::Command::new("git").arg("--version").output().is_ok()
}

/// Runs git in a folder.
#[track_caller]
fn git(folder: &Path, line: &str) {
    let told = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(["-c", "init.defaultBranch=main"])
        .args(line.split(' '))
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(told.status.success(), "git {line}: {}", String::from_utf8_lossy(&told.stderr));
}

#[track_caller]
fn commit(folder: &Path) {
    git(folder, "add -A");
    git(folder, "commit -q -m change");
}

/// A folder of the user's own in a repository, and a clone of that in which somebody else works.
struct Shared {
    place: Place,
    there: tempfile::TempDir,
}

impl Shared {
    /// None where there is no git.
    fn new() -> Option<Self> {
        if !has_git() {
            return None;
        }
        let shared = Self { place: Place::new(), there: tempfile::tempdir().unwrap() };
        fs::write(shared.here().join(".gitignore"), "data\nbuild\n").unwrap();
        git(&shared.here(), "init -q");
        shared.place.trust().own(&shared.place.folder()).unwrap();
        shared.place.write("return { doc = \"Mine.\" }");
        shared.place.check(TrustStatus::Own);
        commit(&shared.here());
        shared.place.check(TrustStatus::Own);
        git(shared.there.path(), &format!("clone -q {} clone", shared.here().display()));
        // Whoever means harm commits bytes that no attribute has changed.
        let raw = "* -text -ident !eol !working-tree-encoding\n";
        fs::write(shared.clone().join(".git/info/attributes"), raw).unwrap();
        Some(shared)
    }

    fn here(&self) -> PathBuf {
        self.place.top.path().to_owned()
    }

    fn clone(&self) -> PathBuf {
        self.there.path().join("clone")
    }

    /// Somebody else commits a file.
    fn commit_there(&self, name: &str, text: &str) {
        fs::write(self.clone().join(name), text).unwrap();
        commit(&self.clone());
    }

    fn pull(&self) {
        git(&self.here(), &format!("pull -q {} main", self.clone().display()));
    }
}

/// What a pull changes in a folder of one's own does not run unasked; what its author writes
/// there does, and goes on to once it is committed.
#[test]
fn ones_own_folder_is_trusted_for_what_one_wrote() {
    let Some(shared) = Shared::new() else { return };
    let (place, here) = (&shared.place, shared.here());
    // Somebody else goes on with it.
    shared.commit_there("policies/team/policy.lua", "return { doc = \"Theirs.\" }");
    shared.pull();
    place.check(TrustStatus::Pulled);
    // An edit on top of it does not make it one's own; saying so does.
    place.write("return { doc = \"Theirs, and mended.\" }");
    place.check(TrustStatus::Pulled);
    place.trust().own(&place.folder()).unwrap();
    place.check(TrustStatus::Own);
    place.write("return { doc = \"Read, and mended.\" }");
    place.check(TrustStatus::Own);
    shared.commit_there("policies/team/more.lua", "return {}");
    commit(&here);
    place.check(TrustStatus::Own);
    let clone = shared.clone();
    git(&here, &format!("pull -q --no-rebase --no-edit -X ours {} main", clone.display()));
    place.check(TrustStatus::Pulled);
    place.trust().own(&place.folder()).unwrap();
    place.check(TrustStatus::Own);
    // Neither build products nor what one only staged hide anything.
    fs::create_dir_all(place.folder().join("build")).unwrap();
    fs::write(place.folder().join("build/out"), "1").unwrap();
    place.check(TrustStatus::Own);
    place.write("return { doc = \"Staged, and never run.\" }");
    git(&here, "add -A");
    place.check(TrustStatus::Pulled);
}

/// A pull that puts an edit aside and back brings into that file what is not its author's.
#[test]
fn what_came_below_an_edit_is_not_ones_own() {
    let lines = |first: &str, last: &str| format!("{first}\n\n\n\n\nreturn {{}}\n{last}");
    let Some(shared) = Shared::new() else { return };
    let (place, here, there) = (&shared.place, shared.here(), shared.clone());
    place.write(&lines("-- Mine.", ""));
    place.check(TrustStatus::Own);
    commit(&here);
    git(&there, "pull -q");
    shared.commit_there("policies/team/policy.lua", &lines("os.exit()", ""));
    place.write(&lines("-- Mine.", "-- A note.\n"));
    place.check(TrustStatus::Own);
    git(&here, &format!("pull -q --rebase --autostash {} main", there.display()));
    let policy = fs::read_to_string(place.folder().join("team/policy.lua")).unwrap();
    assert_eq!(policy, lines("os.exit()", "-- A note.\n"));
    place.check(TrustStatus::Pulled);
    place.write(&lines("os.exit()", "-- Another note.\n"));
    place.check(TrustStatus::Pulled);
    // Who says that it is theirs, edits it like anything of theirs.
    place.trust().own(&place.folder()).unwrap();
    place.check(TrustStatus::Own);
    place.write(&lines("-- Mine again.", ""));
    place.check(TrustStatus::Own);
}

/// Bytes that are no text, and what is below several edits.
#[test]
fn edits_of_ones_own_files_are_ones_own() {
    let Some(shared) = Shared::new() else { return };
    let (place, here) = (&shared.place, shared.here());
    let file = |at: usize| place.folder().join(format!("team/data {at}.bin"));
    let write = |round: u8| (0..3).for_each(|at| fs::write(file(at), [0, 255, round, 10]).unwrap());
    write(0);
    place.check(TrustStatus::Own);
    for round in 1..4 {
        commit(&here);
        place.check(TrustStatus::Own);
        write(round);
        place.check(TrustStatus::Own);
    }
}

/// A pull that brings a policy and then attributes by which git writes files otherwise than it
/// keeps them.
#[track_caller]
fn brings(policy: &str, attributes: &str) -> Option<Shared> {
    let shared = Shared::new()?;
    shared.commit_there("policies/team/policy.lua", policy);
    shared.commit_there(".gitattributes", attributes);
    shared.pull();
    shared.place.check(TrustStatus::Pulled);
    Some(shared)
}

#[test]
fn what_git_converts_is_not_an_edit() {
    brings("-- $Id: x$\nreturn {}\n", "*.lua ident\n");
    brings("-- $Id$\nreturn {}\n", "*.lua ident\n");
    brings("return {}\r\n", "*.lua text eol=lf\n");
    brings("return {}\n", "*.lua text eol=crlf\n");
    brings("return {}\n", "*.lua working-tree-encoding=UTF-16\n");
    // A copy of the folder, which git never wrote.
    let Some(shared) = brings("return {}\n", "*.lua text eol=crlf\n") else { return };
    shared.place.write("return {}\r\n");
    shared.place.check(TrustStatus::Pulled);
}

#[test]
fn what_git_converted_once_is_not_an_edit() {
    let Some(shared) = brings("return {}\n", "*.lua text eol=crlf\n") else { return };
    shared.commit_there(".gitattributes", "");
    shared.pull();
    shared.place.check(TrustStatus::Pulled);
}

#[test]
fn line_ends_by_the_settings_are_not_an_edit() {
    let Some(shared) = Shared::new() else { return };
    git(&shared.here(), "config core.autocrlf true");
    shared.commit_there("policies/team/policy.lua", "return { 1 }\n");
    shared.pull();
    shared.place.check(TrustStatus::Pulled);
    shared.place.write("return { 1 }\r\n");
    shared.place.check(TrustStatus::Pulled);
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let Some(shared) = Shared::new() else { return };
    let (here, ran) = (shared.here(), shared.there.path().join("ran"));
    let command = format!("[filter \"x\"]\n\tclean = touch {} && cat\n", ran.display());
    let config = here.join(".git/config");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(config, settings + &command).unwrap();
    fs::write(here.join(".gitattributes"), "* filter=x\n").unwrap();
    shared.place.write("return { doc = \"Edited.\" }");
    shared.place.check(TrustStatus::Pulled);
    assert!(!ran.exists());
}

/// A repository within one's own folder is not one's own.
#[test]
fn a_repository_within_is_somebody_elses() {
    for kind in [".git", ".jj", ".hg", ".svn"] {
        let place = Place::new();
        place.trust().own(&place.folder()).unwrap();
        let within = place.folder().join("team/vendor");
        fs::create_dir_all(within.join(kind)).unwrap();
        place.check(TrustStatus::Own);
        fs::write(within.join("dates.lua"), "return {}").unwrap();
        place.check(TrustStatus::Pulled);
    }
}

/// Git knows nothing of what others check out beside it.
#[test]
fn what_another_repository_checks_out_is_not_an_edit() {
    for kind in [".jj", ".hg", ".svn"] {
        let Some(shared) = Shared::new() else { return };
        fs::create_dir(shared.here().join(kind)).unwrap();
        shared.place.write("return { doc = \"Theirs.\" }");
        shared.place.check(TrustStatus::Pulled);
    }
}
