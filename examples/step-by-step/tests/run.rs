//! Two processes share a turn, and it is the turn of one.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Output, Stdio};

    fn run(verb: &str, input: &[u8]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_step-by-step"));
        program.arg(verb).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = program.spawn().unwrap();
        program.stdin.take().unwrap().write_all(input).unwrap();
        program.wait_with_output().unwrap()
    }

    #[test]
    fn what_one_process_begins_another_one_finishes() {
        let begun = run("begin", b"");
        assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
        let finished = run("finish", &begun.stdout);
        let whole = run("whole", b"");
        let told = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert!(finished.status.success() && whole.status.success(), "{told}");
        assert_eq!(finished.stdout, whole.stdout);
        assert!(String::from_utf8_lossy(&whole.stdout).contains("Never push to main."));
        // Nobody is asked twice.
        let lines = |output: &Output| {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            told.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!([lines(&begun), lines(&finished)].concat(), lines(&whole));
        let is_by_hand =
            |line: &String| line.starts_with("hook.trigger") && line.ends_with("by hand");
        assert!(lines(&whole).iter().any(is_by_hand));
    }

    #[test]
    fn a_record_of_something_else_is_refused() {
        let begun = String::from_utf8(run("begin", b"").stdout).unwrap();
        let other = begun.replace("Never push to main.", "Push to main.");
        let refused = run("finish", other.as_bytes());
        assert!(!refused.status.success());
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains("another request"), "{told}");
    }
}
