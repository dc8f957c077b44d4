//! Two texts beside each other, line by line.
//!
//! Invariant: what is the same in both is folded, and every line of either is there, up to a bound that is
//! told.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::figures::grouped;
use crate::shown::shown;

/// So many lines are compared.
const LINES: usize = 2_000;
/// So many lines beside a change are shown.
const BESIDE: usize = 2;

/// Two texts line by line; what is the same in both is folded.
pub(crate) fn difference(before: &str, after: &str) -> Markup {
    let cut = |text: &str| text.lines().take(LINES).map(shown).collect::<Vec<_>>();
    let longest = before.lines().count().max(after.lines().count());
    let (before, after) = (cut(before), cut(after));
    let old: Vec<&str> = before.iter().map(String::as_str).collect();
    let new: Vec<&str> = after.iter().map(String::as_str).collect();
    let diff = TextDiff::from_slices(&old, &new);
    let changes: Vec<_> = diff.iter_all_changes().collect();
    let is_same = |at: usize| changes[at].tag() == ChangeTag::Equal;
    let is_near = |at: usize| {
        let near = at.saturating_sub(BESIDE)..(at + BESIDE + 1).min(changes.len());
        near.into_iter().any(|at| !is_same(at))
    };
    let places: Vec<_> = (0..changes.len()).collect();
    html! {
        div.diff {
            @for run in places.chunk_by(|one, next| is_near(*one) == is_near(*next)) {
                @if is_near(run[0]) {
                    @for at in run { (changed(changes[*at].tag(), changes[*at].value())) }
                } @else {
                    details.kept {
                        summary { (run.len()) " lines unchanged" }
                        @for at in run { (changed(ChangeTag::Equal, changes[*at].value())) }
                    }
                }
            }
        }
        @if longest > LINES {
            p.quiet {
                "The first " (grouped(LINES as u64)) " of " (grouped(longest as u64))
                " lines are compared."
            }
        }
    }
}

fn changed(tag: ChangeTag, text: &str) -> Markup {
    let (class, sign) = match tag {
        ChangeTag::Equal => ("same", " "),
        ChangeTag::Delete => ("gone", "−"),
        ChangeTag::Insert => ("new", "+"),
    };
    html! { pre class={ "line " (class) } { (sign) " " (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_both_is_folded() {
        let lines: Vec<_> = (0..20).map(|at| format!("line {at}")).collect();
        let mut after = lines.clone();
        after[9] = "<script>".to_owned();
        let page = difference(&lines.join("\n"), &after.join("\n")).into_string();
        assert!(page.contains("<summary>7 lines unchanged</summary>"), "{page}");
        assert!(page.contains("<pre class=\"line gone\">− line 9</pre>"), "{page}");
        assert!(page.contains("<pre class=\"line new\">+ &lt;script&gt;</pre>"), "{page}");
    }
}
