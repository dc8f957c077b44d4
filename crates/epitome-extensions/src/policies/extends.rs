//! Which policy another extends, read from its text.
//!
//! Invariant: nothing is run, so the chain of a profile, and with it the hash of its configuration,
//! is known before a virtual machine is started. What is read here is held against what the policy
//! says once it runs. Called where a profile is resolved.

/// Returns the name that a policy extends, and the line that says so.
pub fn extends(text: &str) -> Option<(String, usize)> {
    text.lines().enumerate().find_map(|(at, line)| {
        let code = line.split("--").next()?;
        let (before, rest) = code.split_once("extends")?;
        let is_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let rest = rest.trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let name = rest[1..].split(quote).next()?;
        (!is_word).then(|| (name.to_owned(), at + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, usize)>) {
        let found = extends(text);
        assert_eq!(found.as_ref().map(|(name, line)| (name.as_str(), *line)), expected, "{text}");
    }

    #[test]
    fn a_name_is_found_as_people_write_it() {
        check("--- @api 2\nreturn {\n  extends = \"ollm\",\n}", Some(("ollm", 3)));
        check("local team = {}\nteam.extends='ollm'", Some(("ollm", 2)));
        check("return { extends = \"my-own\", plan = plan }", Some(("my-own", 1)));
    }

    #[test]
    fn what_is_no_statement_is_passed_over() {
        check("-- extends = \"a\"\nreturn {} -- extends = \"b\"", None);
        check("local never_extends = \"a\"", None);
        check("extends = base", None);
        check("", None);
    }
}
