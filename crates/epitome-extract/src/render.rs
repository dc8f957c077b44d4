//! Writes chosen units down as the text of a summary.
//!
//! Invariant: units keep their order, every change of speaker is named, and a marker of goals keeps
//! its line.

use std::rc::Rc;

use epitome_kernel::types::Speaker;

use crate::labels::label;
use crate::row_object::{self, RowObject};
use crate::section::TextSection;
use crate::split::is_marker;
use crate::unit::{CallName, FailedCall, TextUnit, UnitKind};

/// Units as text.
#[derive(Debug, Default)]
pub(crate) struct RenderedUnits {
    pub(crate) text: String,
    /// Where it comes to the first entry that is told of apart, in bytes.
    pub(crate) turn: usize,
}

/// The chosen units (ascending places) as text. `labels` names the speakers. What is told from the entry
/// in place `turn` on may stand elsewhere, so it says of itself whose it is.
pub(crate) fn render(
    units: &[TextUnit<'_>],
    chosen: &[usize],
    labels: bool,
    turn: Option<usize>,
) -> RenderedUnits {
    let mut out = String::new();
    let mut at = None;
    let mut last: Option<&TextUnit<'_>> = None;
    let mut told = ToldSoFar::default();
    let mut before = usize::MAX;
    for (index, unit) in chosen.iter().map(|index| (*index, &units[*index])) {
        if told.fails_already(unit) {
            continue;
        }
        if let Some(last) = last {
            let is_next = index == before + 1;
            out.push_str(match flows(last, unit) {
                // No space stands behind these.
                true if last.text.ends_with(['。', '！', '？']) => "",
                true => " ",
                false if is_next && is_of_row(last, unit) => ", ",
                false => "\n",
            });
        }
        before = index;
        if at.is_none() && turn.is_some_and(|turn| unit.entry() >= turn) {
            at = Some(out.len());
            told = ToldSoFar::default();
            last = None;
        }
        let is_headed = labels && head(unit, last, &told.calls, &mut out);
        let beside = last.filter(|last| !is_headed && is_of_call(last, unit));
        let is_piece = is_piece(unit, last);
        if let Some(call) = unit.call.as_ref().filter(|_| is_piece) {
            out.extend([&*call.text, ":\n"]);
        }
        told.section(unit, beside.is_some(), &mut out);
        place(unit, beside.filter(|_| !is_piece), &mut out);
        let is_named = !is_headed && last.is_some_and(|last| last.is_same_turn(unit));
        if let Some(mark) = unit.said_by().filter(|_| !is_named) {
            out.extend([mark, " "]);
        }
        out.push_str(&unit.text);
        let of_call = unit.call.as_ref().and_then(|call| Some(&*call.failure.as_ref()?.line));
        let answer = unit.answer().or(of_call.filter(|_| is_piece));
        if let Some(answer) = answer.filter(|_| !told.is_failed(unit)) {
            let speaker = if unit.kind == UnitKind::Call { Speaker::Tool } else { Speaker::Human };
            out.extend(["\n", if labels { label(speaker) } else { "" }, answer]);
        }
        told.note(unit, last);
        last = Some(unit);
    }
    RenderedUnits { turn: at.unwrap_or(out.len()), text: out }
}

/// What was told, as far as it bears on what is told next.
#[derive(Default)]
struct ToldSoFar<'u, 'a> {
    /// The calls that were told one after the other.
    calls: Vec<&'u Rc<CallName<'a>>>,
    /// Those of all that failed, with their failures.
    failed: Vec<&'u Rc<CallName<'a>>>,
    /// What the lines of the text that is told stand under.
    heading: &'u str,
    header: &'u str,
}

impl<'u, 'a> ToldSoFar<'u, 'a> {
    fn is_failed(&self, unit: &TextUnit<'a>) -> bool {
        let call = unit.call.as_ref().filter(|_| unit.kind == UnitKind::Call);
        call.is_some_and(|own| self.failed.iter().any(|it| Rc::ptr_eq(it, own)))
    }

    /// Whether a piece of a result says nothing but the failure that was told behind its call.
    fn fails_already(&self, unit: &TextUnit<'a>) -> bool {
        let Some(call) = unit.call.as_ref().filter(|_| unit.kind != UnitKind::Call) else {
            return false;
        };
        let is_said = |it: &FailedCall<'_>| it.line.contains(unit.text.trim());
        call.failure.as_ref().is_some_and(is_said)
            && self.failed.iter().any(|it| Rc::ptr_eq(it, call))
    }

    /// Names what a line stands under, as far as the line before does not stand there.
    fn section(&mut self, unit: &'u TextUnit<'a>, is_beside: bool, out: &mut String) {
        if !is_beside {
            (self.heading, self.header) = ("", "");
        }
        let Some(section) = unit.section.as_deref() else { return };
        let TextSection { heading, header, is_leaning } = section;
        if self.heading != heading {
            let is_own = unit.text.starts_with(&**heading) && !heading.is_empty();
            let needs = *is_leaning || !self.heading.is_empty();
            if needs && !is_own && !heading.is_empty() {
                out.extend([heading, "\n"]);
            }
            if needs || is_own {
                (self.heading, self.header) = (heading, "");
            }
        }
        if self.header != header && !header.is_empty() {
            out.extend([header, "\n"]);
            self.header = header;
        }
    }

    fn note(&mut self, unit: &'u TextUnit<'a>, last: Option<&TextUnit<'_>>) {
        let Some(own) = unit.call.as_ref().filter(|_| unit.kind == UnitKind::Call) else { return };
        if last.is_none_or(|last| last.kind != UnitKind::Call) {
            self.calls.clear();
        }
        if !self.calls.iter().any(|it| Rc::ptr_eq(it, own)) {
            self.calls.push(own);
        }
        if own.failure.is_some() && !self.is_failed(unit) {
            self.failed.push(own);
        }
    }
}

/// Whether a unit is a piece of a call that is not told behind that which names its tool.
fn is_piece(unit: &TextUnit<'_>, last: Option<&TextUnit<'_>>) -> bool {
    let Some(call) = unit.call.as_ref().filter(|_| unit.kind == UnitKind::Call) else {
        return false;
    };
    let goes_on = |last: &TextUnit<'_>| {
        last.kind == UnitKind::Call && is_of_call(last, unit) && last.answer().is_none()
    };
    !call.is_head(&unit.text) && !last.is_some_and(goes_on)
}

/// Whether a unit goes on in the line of the one before.
fn flows(last: &TextUnit<'_>, unit: &TextUnit<'_>) -> bool {
    let are_sentences = last.kind == UnitKind::Sentence && unit.kind == UnitKind::Sentence;
    are_sentences
        && last.entry() == unit.entry()
        && last.speaker == unit.speaker
        && last.answer().is_none()
        && last.is_same_turn(unit)
        && is_of_call(last, unit)
        && last.section == unit.section
}

/// Whether two units that follow each other are fields of one object.
fn is_of_row(last: &TextUnit<'_>, unit: &TextUnit<'_>) -> bool {
    let has_fields = |unit: &TextUnit<'_>| unit.kind == UnitKind::Row && !unit.fields().is_empty();
    let is_same = match (last.object(), unit.object()) {
        (Some(last), Some(unit)) => Rc::ptr_eq(last, unit),
        _ => false,
    };
    is_same && last.path() == unit.path() && has_fields(last) && has_fields(unit)
}

/// Whether two units are of one call and its result, or of none.
fn is_of_call(last: &TextUnit<'_>, unit: &TextUnit<'_>) -> bool {
    match (&unit.call, &last.call) {
        (Some(own), Some(other)) => Rc::ptr_eq(own, other),
        (own, other) => own.is_none() && other.is_none() && last.entry() == unit.entry(),
    }
}

/// Names the objects that a row is in and the key that it is below, as far as neither the unit before nor
/// the row itself does: without them it would be taken for a row of the object before, or of none.
fn place(unit: &TextUnit<'_>, last: Option<&TextUnit<'_>>, out: &mut String) {
    let (objects, told) = (unit.objects(), last.map_or_else(Vec::new, TextUnit::objects));
    let mut known = objects.iter().zip(&told).take_while(|(a, b)| Rc::ptr_eq(a, b)).count();
    // It is beside the row before, of the same object or of the next in the same list.
    let is_beside = objects.len().max(told.len()) <= known + 1;
    // What was told of an object in it would take this for its own.
    if known == objects.len() && told.len() > known {
        known -= usize::from(known > 0);
    }
    // A place is told from its beginning.
    let is_placed = |at: usize| objects.get(at).is_some_and(|it| it.is_place());
    while known > 0 && is_placed(known) && is_placed(known - 1) {
        known -= 1;
    }
    let is_new = |object: &&Rc<RowObject>| !object.is_said(unit.fields(), &unit.text);
    let new: Vec<_> = objects[known..].iter().copied().filter(is_new).collect();
    let is_told = is_beside
        && last.is_some_and(|last| last.path() == unit.path())
        && !new.iter().any(|object| object.is_place());
    row_object::tell(&new, unit.path().filter(|_| !is_told), out);
}

/// Says who speaks, where that is somebody else than before, another tool's result or a question that
/// was answered. A result says of which call it is where it would be taken for another one's: behind the
/// call of another, where several were `calls` at once, and where its own leaves for a later one like it.
/// Returns whether anything was said.
fn head(
    unit: &TextUnit<'_>,
    last: Option<&TextUnit<'_>>,
    calls: &[&Rc<CallName<'_>>],
    out: &mut String,
) -> bool {
    let is_result = unit.speaker == Speaker::Tool;
    let goes_on = |last: &TextUnit<'_>| {
        let is_same = match (is_result, unit.answer()) {
            (true, _) => is_of_call(last, unit),
            // The answer is to one question, not to all that were asked before.
            (false, Some(_)) => last.entry() == unit.entry(),
            (false, None) => true,
        };
        // What nobody is named for is not of the one who was named last.
        let is_of_named = last.mark.is_some() && unit.mark.is_none();
        is_same && !is_of_named && last.speaker == unit.speaker && last.answer().is_none()
    };
    if last.is_some_and(goes_on) {
        return false;
    }
    let misleads = |call: &Rc<CallName<'_>>| {
        let is_told = calls.iter().any(|told| Rc::ptr_eq(told, call));
        let behind = last.is_some_and(|last| last.kind == UnitKind::Call);
        match is_told {
            true => calls.len() > 1,
            false => {
                let is_unclear = call.has_likes || call.failure.is_some();
                behind || call.is_repeated || is_unclear && !says_which(unit, call)
            }
        }
    };
    let label = label(unit.speaker);
    match &unit.call {
        Some(call) if is_result && misleads(call) => {
            out.extend([label.trim_end_matches(": "), " (", &call.text, "):\n"]);
        }
        // A marker is read at the beginning of a line, and only there.
        _ if is_marker(&unit.text) => out.extend([label.trim_end(), "\n"]),
        _ => out.push_str(label),
    }
    true
}

/// Whether a piece of a result says itself what tells its call from others, as far as anything does.
fn says_which(unit: &TextUnit<'_>, call: &CallName<'_>) -> bool {
    let told = unit.told();
    // What failed is never told without what it was.
    let is_named = call.failure.is_none() || !call.values.is_empty();
    is_named && call.values.iter().all(|value| told.contains(&**value))
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::Entry;
    use epitome_testkit::{Chat, chat};

    use super::*;
    use crate::cut;

    /// The units of a conversation that hold one of these texts, as a summary tells them.
    #[track_caller]
    fn check(chat: Chat, chosen: &[&str], expected: &str) {
        let entries = chat.entries();
        let units = cut::units(&entries.iter().collect::<Vec<&Entry>>());
        let is_chosen = |index: &usize| {
            let unit = &units[*index];
            !unit.withheld && chosen.iter().any(|text| unit.text.contains(text))
        };
        let places: Vec<usize> = (0..units.len()).filter(is_chosen).collect();
        assert_eq!(render(&units, &places, true, None).text, expected);
    }

    #[test]
    fn a_result_is_not_told_below_the_call_of_another() {
        let chat = chat()
            .call("read", r#"{"path":"a.rs"}"#)
            .result("let a = 1;")
            .call("read", r#"{"path":"b.rs"}"#)
            .result("let b = 2;")
            .call("read", r#"{"path":"c.rs"}"#)
            .result("let c = 3;");
        check(chat.clone(), &["a.rs", "a ="], "Assistant: read(path a.rs)\nTool: let a = 1;");
        let named = "Assistant: read(path a.rs)\nTool (read b.rs):\nlet b = 2;\nTool (read c.rs):\nlet c = 3;";
        check(chat, &["a.rs", "b =", "c ="], named);
    }

    #[test]
    fn results_of_calls_at_once_say_which() {
        let chat = chat().call("check", r#"{"host":"a"}"#).call("check", r#"{"host":"b"}"#);
        let chat = chat.user_result("All of it is well here.").user_result("This one is down.");
        let told = "Assistant: check(host a)\ncheck(host b)\nTool (check a):\nAll of it is well here.\nTool \
                    (check b):\nThis one is down.";
        check(chat, &["host", "well", "down"], told);
    }

    #[test]
    fn a_result_whose_call_was_made_again_says_which() {
        let (a, b) = (r#"{"path":"a.rs"}"#, r#"{"path":"b.rs"}"#);
        let chat = chat().call("read", a).result("let a = 1;").call("read", b).result("let b = 2;");
        let chat = chat.call("read", a).result("let a = 3;");
        let told = "Tool (read a.rs):\nlet a = 1;\nAssistant: read(path b.rs)\nTool: let b = 2;\nTool (read a.rs):\nlet a = 3;";
        check(chat, &["b.rs", "b =", "a = 1", "a = 3"], told);
    }

    #[test]
    fn a_row_says_which_object_it_is_of() {
        let one = |id: u32| {
            let fields = "\"a\":\"one two three four\",\"b\":\"six seven eight nine\"";
            format!(r#"{{"id":"c-{id}",{fields},"left":{id}0}}"#)
        };
        let rows = format!("[{},{}]", one(1), one(2));
        let chat = chat().call("list", "{}").result(&rows);
        let first = "id c-1, a one two three four";
        check(
            chat,
            &["c-1", "left 20"],
            &format!("Tool: {first}\nid c-2; b six seven eight nine, left 20"),
        );
    }

    #[test]
    fn rows_of_one_object_stand_in_one_line() {
        let row = r#"{"id":"c-1","a":"one two three four","b":"six seven eight nine","left":10}"#;
        let chat = chat().call("list", "{}").result(&format!("[{row}]"));
        let told = "Tool: id c-1, a one two three four, b six seven eight nine, left 10";
        check(chat, &["c-1", "left 10"], told);
    }

    #[test]
    fn a_row_says_which_key_it_is_below_and_in_which_objects() {
        let legs = |flights: [&str; 2]| {
            let leg = |flight: &str| {
                format!(
                    r#"{{"flight_number":"{flight}","from":"one of all the many airports in this country here","to":"a far one","price":1{flight}}}"#
                )
                .replace("1HAT", "1")
            };
            format!("[{}]", flights.map(leg).join(","))
        };
        let booking = |id: &str, flights: [&str; 2]| {
            format!(
                r#"{{"booking_id":"{id}","legs":{},"seats":{{"economy":3}},"paid":true}}"#,
                legs(flights)
            )
        };
        let chat = chat().call("get", "{}").result(&booking("AB12", ["HAT7", "HAT8"]));
        check(
            chat.clone(),
            &["price", "economy"],
            "Tool: AB12; HAT7; legs: to a far one, price 17\nHAT8; to a far one, price 18\nAB12; seats: economy 3",
        );
        let chat = chat.call("get", "{}").result(&booking("CD34", ["HAT9", "HAT6"]));
        check(
            chat,
            &["price 18", "price 16"],
            "Tool (get):\nAB12; HAT8; legs: to a far one, price 18\nTool: CD34; HAT6; legs: to a far one, price 16",
        );
    }

    #[test]
    fn a_value_stands_with_the_keys_that_lead_to_it() {
        let plan = |price: u32| {
            format!(
                r#"{{"seats":1,"fee":{{"month":{price},"year":{price}0}},"room":{{"gb":{price}00}}}}"#
            )
        };
        let region = |it: u32| format!(r#"{{"small":{},"large":{}}}"#, plan(it), plan(it + 1));
        let json = format!(r#"{{"zones":{{"eu":{},"us":{}}}}}"#, region(1), region(3));
        check(
            chat().call("prices", "{}").result(&json),
            &["month", "gb 200"],
            "Tool: zones.eu.small.fee: month 1, year 10\nzones.eu.large.fee: month 2, year 20\nroom: gb 200\n\
             zones.us.small.fee: month 3, year 30\nzones.us.large.fee: month 4, year 40",
        );
    }

    #[test]
    fn a_piece_of_a_call_names_its_tool_and_what_came_of_it() {
        let arguments = r#"{"path":"a.rs","new":"let a = 1;\n\nlet b = 2;"}"#;
        let chat = chat().call("edit", arguments).result("Ok.");
        check(chat, &["b ="], "Assistant: edit a.rs:\nnew: let b = 2;");
        let booked = r#"{"id":"X1","legs":[{"number":"HAT1","date":"May 1"}]}"#;
        let refused = r#"{"status":"rejected","code":"TOO_LATE"}"#;
        let chat = epitome_testkit::chat().call("book", booked).result(refused);
        check(
            chat.clone(),
            &["HAT1", "book"],
            "Assistant: book(id X1)\nTool: status rejected, code TOO_LATE",
        );
        check(
            chat,
            &["book", "rejected"],
            "Assistant: book(id X1)\nTool: status rejected, code TOO_LATE",
        );
    }

    #[test]
    fn a_row_stands_under_its_heading_and_header() {
        let city = |name: &str| {
            format!(
                "## {name}\n\n| hotel | pets | garden or balcony | kitchen |\n|---|---|---|---|\n\
                 | {name} Mar | not one of them | yes, a small one | yes |\n\
                 | {name} Sol | as many as there are | yes, a large one | no |\n\n"
            )
        };
        let chat = chat().call("list", "{}").result(&(city("Faro") + &city("Braga")));
        check(
            chat,
            &["Faro Mar", "Faro Sol", "Braga Sol"],
            "Tool: ## Faro\n| hotel | pets | garden or balcony | kitchen |\n\
             | Faro Mar | not one of them | yes, a small one | yes |\n\
             | Faro Sol | as many as there are | yes, a large one | no |\n\
             ## Braga\n| hotel | pets | garden or balcony | kitchen |\n\
             | Braga Sol | as many as there are | yes, a large one | no |",
        );
    }

    #[test]
    fn what_stands_behind_a_message_says_whose_it_is() {
        let chat = chat().call("read", "{}").result("let a = 1;\n\nlet b = 2;");
        let entries = chat.user("And c?").call("read", "{}").result("let c = 3;").entries();
        let units = cut::units(&entries.iter().collect::<Vec<&Entry>>());
        let at = |text: &str| units.iter().position(|unit| unit.text == text).unwrap();
        let told =
            render(&units, &[at("let a = 1;"), at("let b = 2;"), at("let c = 3;")], true, Some(3));
        let (before, behind) = told.text.split_at(told.turn);
        assert_eq!(
            (before, behind),
            ("Tool (read):\nlet a = 1;\nlet b = 2;\n", "Tool: let c = 3;")
        );
    }

    #[test]
    fn an_extract_that_comes_back_says_the_same_again() {
        let told = "User: Never touch the old table.\nAssistant: I look at the table.\nUser: Always test it.\n\
                    Tool (read a.rs):\nlet a = 1;\nAssistant: Now it is done.";
        let extract = format!("[Shortened]\n{told}");
        check(chat().user(&extract), &["old", "look", "test", "a =", "done"], told);
    }

    #[test]
    fn a_short_answer_is_told_behind_its_question() {
        let chat = chat()
            .user("Clean it up.")
            .assistant("Shall I drop the old table? It has 3 rows.")
            .user("No.")
            .assistant("Shall I build the index anew?")
            .user("Yes.")
            .assistant("It is built.")
            .user("Thank you, that was quick work.");
        check(
            chat.clone(),
            &["drop", "index", "Thank"],
            "Assistant: Shall I drop the old table? It has 3 rows.\nUser: No.\nAssistant: Shall I build the index \
             anew?\nUser: Yes.\nUser: Thank you, that was quick work.",
        );
        // Whoever is not told of a question is told of no answer to it.
        check(
            chat,
            &["Clean", "No.", "index"],
            "User: Clean it up.\nAssistant: Shall I build the index anew?\nUser: Yes.",
        );
    }
}
