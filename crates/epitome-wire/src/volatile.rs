//! Lines of a client's own notes that change by themselves: a date, the number of a build.
//!
//! Invariant: the text stays what it is; only what it is known by leaves them out. Called where
//! parts are collected, for texts of the harness alone: what a person or a tool says is known by
//! every word of it.

/// How such lines begin.
const OPENINGS: [&str; 4] =
    ["Today's date is ", "Today's date: ", "<current_date>", "x-anthropic-billing-header:"];

/// What a note is known by, where that is not its own text: of a volatile line its opening alone.
pub(crate) fn known_as(text: &str) -> Option<String> {
    let opening = |line: &str| {
        let begun = line.trim_start();
        OPENINGS.into_iter().find(|opening| begun.starts_with(opening))
    };
    if !text.split('\n').any(|line| opening(line).is_some()) {
        return None;
    }
    let lines = text.split('\n').map(|line| opening(line).unwrap_or(line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, known: Option<&str>) {
        assert_eq!(known_as(text).as_deref(), known, "{text}");
    }

    #[test]
    fn of_a_volatile_line_only_its_opening_counts() {
        check(
            "x-anthropic-billing-header: cc_version=2.1.197.6c5; cc_entrypoint=sdk-cli;",
            Some("x-anthropic-billing-header:"),
        );
        check(
            "<system-reminder>\n# currentDate\nToday's date is 2026-11-21.\n\nIMPORTANT\n</system-reminder>",
            Some(
                "<system-reminder>\n# currentDate\nToday's date is \n\nIMPORTANT\n</system-reminder>",
            ),
        );
        check(
            "<environment_context>\n  <cwd>/w</cwd>\n  <current_date>2026-11-21</current_date>\n</environment_context>",
            Some("<environment_context>\n  <cwd>/w</cwd>\n<current_date>\n</environment_context>"),
        );
        check(
            "<env>\r\n  Today's date: Sat Nov 21 2026\r\n</env>",
            Some("<env>\r\nToday's date: \n</env>"),
        );
    }

    #[test]
    fn other_texts_are_known_by_themselves() {
        check("", None);
        check("# currentDate", None);
        check("They said that Today's date is 2026-11-21.", None);
        check("the x-anthropic-billing-header: is sent", None);
    }
}
