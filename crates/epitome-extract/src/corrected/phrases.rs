//! The words by which people take back, correct and limit what was said, in the languages of the ledger.
//!
//! Invariant: a word that is also said for other reasons counts only at the beginning of a sentence and
//! where a sign follows it. Called by [`super`].

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::words::{is_unspaced, word_count};

/// A limit in more words says of itself what it limits.
const LIMIT_WORDS: usize = 14;

/// What a sentence does to what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Correcting {
    /// It opens by taking back or correcting what was said right before, or something further up.
    Opens,
    /// It says that something is otherwise now.
    Changes,
    /// It says when, or under what condition, what the sentence before says holds.
    Limits,
}

/// What a sentence does to what was said before, if anything.
pub(super) fn correcting(text: &str) -> Option<Correcting> {
    let lower = text.to_lowercase().replace('’', "'");
    let said = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if said.ends_with(['?', '？', '؟']) {
        return None;
    }
    // "And forget the second one", "Dann lass es weg".
    let said = LEADS.iter().find_map(|lead| said.strip_prefix(lead)).unwrap_or(said);
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let signs = |rest: &str| {
        rest.is_empty() || rest.starts_with([',', '.', '!', ':', ';', '-', '–', '，', '。', '、'])
    };
    let begins = |list: &[&str], goes: &dyn Fn(&str) -> bool| {
        list.iter().any(|words| said.strip_prefix(words).is_some_and(goes))
    };
    if begins(ALONE, &signs) || begins(OPENERS, &ends) {
        return Some(Correcting::Opens);
    }
    if is_unspaced(text) && OPENERS_UNSPACED.iter().any(|words| said.starts_with(words)) {
        return Some(Correcting::Opens);
    }
    let found = marked(said, is_unspaced(text));
    found.filter(|kind| *kind != Correcting::Limits || word_count(text) <= LIMIT_WORDS)
}

/// What the words within a sentence do: those of a change before those of a limit.
fn marked(said: &str, is_unspaced: bool) -> Option<Correcting> {
    if is_unspaced {
        let holds = |list: &[&str]| list.iter().any(|words| said.contains(words));
        let limits = || holds(LIMITS_UNSPACED).then_some(Correcting::Limits);
        return holds(CHANGES_UNSPACED).then_some(Correcting::Changes).or_else(limits);
    }
    let padded = format!("{said} ");
    let starts = padded.match_indices(' ').map(|(space, _)| &padded[space + 1..]);
    let mut found = None;
    for rest in [&*padded].into_iter().chain(starts) {
        for (words, kind) in head(rest).and_then(|head| MARKS.get(head)).into_iter().flatten() {
            match kind {
                Correcting::Changes if rest.starts_with(words) => return Some(*kind),
                _ if rest.starts_with(words) => found = Some(*kind),
                _ => {}
            }
        }
    }
    found
}

/// The first two letters of a text.
fn head(text: &str) -> Option<&str> {
    let end = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
    text.get(..end).filter(|head| !head.is_empty())
}

/// The words of changes and limits, by how they begin.
static MARKS: LazyLock<FxHashMap<&str, Vec<(&str, Correcting)>>> = LazyLock::new(|| {
    let mut marks: FxHashMap<&str, Vec<(&str, Correcting)>> = FxHashMap::default();
    let changes = CHANGES.iter().map(|words| (*words, Correcting::Changes));
    for (words, kind) in changes.chain(LIMITS.iter().map(|words| (*words, Correcting::Limits))) {
        if let Some(head) = head(words) {
            marks.entry(head).or_default().push((words, kind));
        }
    }
    marks
});

/// What may stand before the words that correct.
const LEADS: &[&str] = &[
    "and ",
    "then ",
    "so ",
    "oh ",
    "ah ",
    "but ",
    "ok, ",
    "okay, ",
    "well, ",
    "result: ",
    "decision: ",
    "outcome: ",
    "und ",
    "dann ",
    "ach, ",
    "aber ",
    "ergebnis: ",
    "beschluss: ",
    "et ",
    "alors ",
    "mais ",
    "y ",
    "entonces ",
    "pero ",
    "e ",
    "allora ",
    "ma ",
    "então ",
    "mas ",
    "en ",
    "dan ",
    "maar ",
    "и ",
    "тогда ",
    "но ",
    "result：",
    "结果：",
    "結果：",
];

/// Words that correct where a sign follows.
const ALONE: &[&str] = &[
    "no",
    "nope",
    "sorry",
    "wait",
    "oops",
    "correction",
    "corrected",
    "actually",
    "rather",
    "i mean",
    "rejected",
    "cancelled",
    "canceled",
    "withdrawn",
    "nein",
    "doch nicht",
    "entschuldigung",
    "korrektur",
    "korrigiert",
    "moment",
    "quatsch",
    "abgelehnt",
    "storniert",
    "abgesagt",
    "verworfen",
    "non",
    "pardon",
    "désolé",
    "désolée",
    "correctif",
    "corrigé",
    "en fait",
    "attends",
    "refusé",
    "rejeté",
    "annulé",
    "perdón",
    "perdona",
    "lo siento",
    "corrección",
    "corregido",
    "en realidad",
    "espera",
    "rechazado",
    "cancelado",
    "scusa",
    "scusi",
    "correzione",
    "corretto",
    "in realtà",
    "aspetta",
    "respinto",
    "annullato",
    "não",
    "desculpa",
    "desculpe",
    "correção",
    "corrigido",
    "na verdade",
    "rejeitado",
    "nee",
    "correctie",
    "gecorrigeerd",
    "wacht",
    "afgewezen",
    "geannuleerd",
    "нет",
    "извини",
    "извините",
    "исправление",
    "исправлено",
    "подожди",
    "отклонено",
    "отменено",
    "いや",
    "いいえ",
    "すみません",
    "ごめん",
    "아니",
    "아니요",
    "죄송합니다",
    "미안",
    "정정",
    "거절",
];
/// Words that correct whatever follows.
const OPENERS: &[&str] = &[
    "sorry that was",
    "sorry, i meant",
    "i meant",
    "no wait",
    "on second thought",
    "make that",
    "make it",
    "leave it out",
    "leave that out",
    "leave them out",
    "leave out",
    "drop it",
    "drop that",
    "drop the",
    "drop them",
    "forget it",
    "forget that",
    "forget the",
    "forget about",
    "scratch that",
    "strike that",
    "never mind",
    "nevermind",
    "cancel it",
    "cancel that",
    "cancel the",
    "undo",
    "take it back",
    "take that back",
    "that was wrong",
    "that is wrong",
    "that's wrong",
    "that is not right",
    "that's not right",
    "not quite",
    "it is not",
    "vergiss",
    "streich",
    "lass das weg",
    "lass es weg",
    "lassen sie",
    "stimmt nicht",
    "das stimmt nicht",
    "das war falsch",
    "das ist falsch",
    "ich meinte",
    "nicht ganz",
    "stattdessen",
    "oublie",
    "laisse tomber",
    "annule",
    "je voulais dire",
    "c'est faux",
    "pas tout à fait",
    "olvida",
    "olvídalo",
    "cancela",
    "mejor dicho",
    "quise decir",
    "eso no es",
    "lascia stare",
    "lascia perdere",
    "dimentica",
    "annulla",
    "volevo dire",
    "non è vero",
    "esquece",
    "esqueça",
    "quis dizer",
    "vergeet",
    "laat maar",
    "annuleer",
    "ik bedoelde",
    "dat klopt niet",
    "забудь",
    "отмени",
    "отмена",
    "вернее",
    "точнее",
    "на самом деле",
    "я имел в виду",
    "это неверно",
    "取り消し",
    "취소",
];
/// The same in scripts without spaces.
const OPENERS_UNSPACED: &[&str] = &[
    "不对",
    "不是",
    "抱歉",
    "对不起",
    "更正",
    "已更正",
    "不，",
    "算了",
    "其实",
    "应该是",
    "搞错",
    "记错",
    "改成",
    "改为",
    "改到",
    "已改",
    "取消",
    "違います",
    "訂正",
    "やっぱり",
    "実は",
    "取り消",
    "キャンセル",
    "間違え",
];
/// Words that say that something is otherwise now.
const CHANGES: &[&str] = &[
    "back to ",
    "moved to ",
    "is moved ",
    "are moved ",
    "was moved ",
    "changed to ",
    "cancelled",
    "canceled",
    "no longer ",
    "not any more",
    "anymore",
    "instead",
    "after all",
    "postponed",
    "brought forward",
    "rejected",
    "withdrawn",
    "verschoben",
    "abgesagt",
    "storniert",
    "abgelehnt",
    "nicht mehr",
    "doch nicht",
    "statt ",
    "stattdessen",
    "zurück auf ",
    "geändert ",
    "reporté",
    "déplacé",
    "annulé",
    "finalement",
    "ne plus ",
    "au lieu ",
    "en vez ",
    "cancelad",
    "aplazad",
    "al final ",
    "ya no ",
    "spostat",
    "annullat",
    "invece",
    "non più",
    "em vez ",
    "adiad",
    "já não ",
    "verplaatst",
    "geannuleerd",
    "niet meer",
    "in plaats ",
    "перенес",
    "отмен",
    "вместо ",
    "больше не ",
    "변경",
    "취소",
    "연기",
    "대신",
];
/// Words that say when, or under what condition, something holds.
const LIMITS: &[&str] = &[
    "not before ",
    "only if ",
    "only after ",
    "only when ",
    "only once ",
    "only until ",
    "unless ",
    "but not ",
    "except ",
    "nur wenn ",
    "erst wenn ",
    "erst nach ",
    "erst ab ",
    "nicht vor ",
    "außer ",
    "es sei denn",
    "aber nicht ",
    "sauf ",
    "seulement si ",
    "seulement après ",
    "pas avant ",
    "à moins ",
    "solo si ",
    "no antes ",
    "salvo ",
    "excepto ",
    "a menos ",
    "solo se ",
    "solo dopo ",
    "non prima ",
    "tranne ",
    "a meno ",
    "só se ",
    "só depois ",
    "não antes ",
    "exceto ",
    "alleen als ",
    "pas als ",
    "niet voor ",
    "tenzij ",
    "behalve ",
    "только если ",
    "только после ",
    "не раньше ",
    "кроме ",
    "때만",
    "전에는",
];

/// The same in scripts without spaces.
const CHANGES_UNSPACED: &[&str] = &[
    "改成",
    "改为",
    "改到",
    "取消",
    "推迟",
    "提前",
    "不来了",
    "不去了",
    "不要了",
    "変更",
    "延期",
    "中止",
    "ではなく",
];
const LIMITS_UNSPACED: &[&str] = &["除非", "只有", "之前不", "限り", "以外は"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Correcting>) {
        assert_eq!(correcting(text), expected, "{text}");
    }

    #[test]
    fn people_take_back_in_many_ways() {
        for text in [
            "Sorry, that was 2022.",
            "No, the 60 are in the 270.",
            "Corrected: both have 4.",
            "Leave it out.",
            "Then drop it.",
            "And forget the second one as well",
            "Result: rejected.",
            "Nein, am 23. kommt Kellner.",
            "Non, le 5 mars.",
            "No, la otra.",
            "Нет, в пятницу.",
            "不对，是四号。",
            "訂正します、五日です。",
            "아니요, 5일입니다.",
        ] {
            check(text, Some(Correcting::Opens));
        }
        check("The surgery is moved to the 18th.", Some(Correcting::Changes));
        check("Der Termin wurde verschoben.", Some(Correcting::Changes));
        check("The doctor says not before Friday.", Some(Correcting::Limits));
        check("But not before the boss has signed.", Some(Correcting::Limits));
    }

    #[test]
    fn other_sentences_correct_nothing() {
        for text in [
            "No problem at all.",
            "Sorry to hear that.",
            "Actually I like it.",
            "No idea what it is.",
            "Wait, is that so?",
            "Nobody came.",
            "The back door is open.",
        ] {
            check(text, None);
        }
    }
}
