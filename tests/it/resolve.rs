//! What a prompt, `diff`, `status` or a closing line names brings the original back exactly as it is
//! printed, whatever profile or store it was made under (SPEC 2.14).

use crate::conversation::bare;
use crate::program::Place;

/// A session that profile `ollm` recorded in the usual store.
fn imported() -> Place {
    let place = Place::new();
    place.write("talk.json", bare(24).to_string());
    let ran = place.run(["session", "import", "--profile", "ollm", "talk.json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    place
}

#[test]
fn sessions_and_what_was_said_are_found_without_their_profile() {
    let place = imported();
    for line in [
        "session show talk",
        "session show",
        "session list --json",
        "session export talk",
        "session search invoice_3_5",
        "recall invoice_3_5",
        "diff talk",
        "diff",
        "status",
        "status --session talk",
        "pin e3 --session talk",
        "unpin e3",
        "goal set --session talk the invoices are paid",
        "goal list",
        "snapshot create --session talk --name noon",
        "snapshot list",
        "snapshot restore noon",
        "session erase talk e3",
        "session delete talk",
        "session restore talk",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = place.run(&words);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        let found = ["talk", "invoice_3_5", "e3", "noon"].iter().any(|it| ran.text().contains(it));
        assert!(found, "{line}: {}", ran.text());
        // A profile that is named is meant, and no other.
        let named = place.run([&words[..], &["--profile", "early"]].concat());
        let nothing = named.code != 0
            || ["", "[]\n"].contains(&named.text())
            || named.text().starts_with("no s");
        assert!(nothing, "{line} --profile early: {}", named.text());
    }
    let listed = place.run(["session", "list", "--json"]).json();
    assert_eq!(listed[0]["profile"], "ollm");
}
