//! The examples hold what they assert.

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[track_caller]
    fn check(program: &str, expected: &str) {
        let ran = Command::new(program).output().unwrap();
        let (said, failed) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{said}\n{failed}");
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_host_runs() {
        check(env!("CARGO_BIN_EXE_host"), "compression 2: ");
    }

    #[test]
    fn a_host_with_parts_of_its_own_runs() {
        check(env!("CARGO_BIN_EXE_own-parts"), "policy: \"careful\"");
    }
}
