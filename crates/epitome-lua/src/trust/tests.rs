//! The record of trusted folders: what holds, and what asks again.

#![expect(clippy::disallowed_methods, reason = "tests write the files they read")]

use std::fs;
use std::io::Write;

use super::*;

mod pulled;

struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { top: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.folder().join("team")).unwrap();
        place.write("return {}");
        place
    }

    fn folder(&self) -> PathBuf {
        self.top.path().join("policies")
    }

    fn write(&self, text: &str) {
        fs::write(self.folder().join("team/policy.lua"), text).unwrap();
    }

    fn trust(&self) -> TrustStore {
        TrustStore::at(self.top.path().join("data/trusted"))
    }

    #[track_caller]
    fn check(&self, expected: TrustStatus) {
        assert_eq!(self.trust().standing(&self.folder()).unwrap(), expected);
    }
}

#[test]
fn a_folder_is_trusted_for_what_is_in_it() {
    let place = Place::new();
    place.check(TrustStatus::Unknown);
    place.trust().trust(&place.folder()).unwrap();
    place.check(TrustStatus::Trusted);
    place.write("return { }");
    place.check(TrustStatus::Changed);
    place.write("return {}");
    place.check(TrustStatus::Trusted);
    fs::write(place.folder().join("new"), "").unwrap();
    place.check(TrustStatus::Changed);
    place.trust().trust(&place.folder()).unwrap();
    place.check(TrustStatus::Trusted);
}

#[test]
fn ones_own_folder_is_never_asked_for() {
    let place = Place::new();
    place.trust().own(&place.folder()).unwrap();
    place.write("return { }");
    place.check(TrustStatus::Own);
    assert_eq!(place.trust().folders().unwrap(), [place.folder().canonicalize().unwrap()]);
    let other = tempfile::tempdir().unwrap();
    assert_eq!(place.trust().standing(other.path()).unwrap(), TrustStatus::Unknown);
}

#[test]
fn contents_cannot_be_moved_between_files() {
    let place = Place::new();
    let before = folder_hash(&place.folder()).unwrap();
    fs::rename(place.folder().join("team/policy.lua"), place.folder().join("team/other.lua"))
        .unwrap();
    assert_ne!(folder_hash(&place.folder()).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn the_record_is_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.trust().trust(&place.folder()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = place.top.path().join("data");
    assert_eq!(mode(&folder), 0o700);
    let mut left: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    left.sort();
    assert!(left.iter().all(|file| mode(file) == 0o600));
    let names: Vec<_> = left.iter().map(|file| file.file_name().unwrap()).collect();
    assert_eq!(names, ["trusted", "trusted.lock"]);
}

/// Whoever changes the record at the same time takes nothing out of it.
#[test]
fn what_is_recorded_at_once_is_all_recorded() {
    let places: Vec<_> = (0..16).map(|_| Place::new()).collect();
    let trust = places[0].trust();
    std::thread::scope(|scope| {
        for (at, place) in places.iter().enumerate() {
            let (trust, folder) = (trust.clone(), place.folder());
            scope.spawn(move || match at % 2 {
                0 => trust.own(&folder).unwrap(),
                _ => drop(trust.trust(&folder).unwrap()),
            });
        }
    });
    for (at, place) in places.iter().enumerate() {
        let expected = if at % 2 == 0 { TrustStatus::Own } else { TrustStatus::Trusted };
        assert_eq!(trust.standing(&place.folder()).unwrap(), expected);
        let path = canonical(&place.folder()).unwrap();
        assert_eq!(trust.contents(&path).unwrap().len(), 1 - at % 2);
    }
}

#[cfg(unix)]
#[test]
fn a_link_counts_for_where_it_leads() {
    let place = Place::new();
    let link = place.folder().join("link");
    std::os::unix::fs::symlink("team", &link).unwrap();
    let before = folder_hash(&place.folder()).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    assert_ne!(folder_hash(&place.folder()).unwrap(), before);
}

/// What a link in a trusted folder leads to runs with it, so it is trusted with it.
#[cfg(unix)]
#[test]
fn what_is_behind_a_link_that_leads_out_counts() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let scripts = place.top.path().join("scripts");
    fs::create_dir_all(scripts.join("more")).unwrap();
    let [run, more] = ["run.py", "more/deep.py"].map(|name| scripts.join(name));
    for file in [&run, &more] {
        fs::write(file, "print()").unwrap();
    }
    symlink(&run, place.folder().join("team/run.py")).unwrap();
    symlink(&scripts, place.folder().join("team/scripts")).unwrap();
    // In a circle, and within.
    symlink(place.folder(), scripts.join("back")).unwrap();
    symlink(&scripts, scripts.join("more/round")).unwrap();
    for (file, trust) in [(&run, false), (&more, false), (&run, true), (&more, true)] {
        match trust {
            false => drop(place.trust().trust(&place.folder()).unwrap()),
            true => place.trust().own(&place.folder()).unwrap(),
        }
        assert!(place.trust().standing(&place.folder()).unwrap().may_run());
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, format!("{text}#")).unwrap();
        place.check(if trust { TrustStatus::Pulled } else { TrustStatus::Changed });
    }
}

/// What nobody can look at in passing stops nothing, and is asked about where it changes.
#[cfg(unix)]
#[test]
fn what_is_large_in_ones_own_folder_stops_nothing() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let large = |name: &str| {
        let path = place.top.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(&path).unwrap().set_len((64 << 20) + 1).unwrap();
        path
    };
    large("policies/team/model.bin");
    let data = large("data-sets/all.bin");
    let one = large("one.bin");
    symlink(data.parent().unwrap(), place.folder().join("team/data")).unwrap();
    symlink(&one, place.folder().join("team/one")).unwrap();
    place.trust().own(&place.folder()).unwrap();
    place.check(TrustStatus::Own);
    place.write("return { }");
    place.check(TrustStatus::Own);
    for outside in [data, one] {
        fs::OpenOptions::new().append(true).open(&outside).unwrap().write_all(b"1").unwrap();
        place.check(TrustStatus::Pulled);
        place.trust().own(&place.folder()).unwrap();
        place.check(TrustStatus::Own);
    }
}
