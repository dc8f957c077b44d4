//! Where a sentence ends: which full stop is one.
//!
//! Invariant: an end is right behind a mark, closing quotes included, and never within brackets that hold
//! a time. In doubt a sentence goes on: two that stay together say nothing false, half of one may. Called
//! by whoever cuts what somebody wrote.

/// A bracket that closes later than so many bytes behind it was not opened for a time.
const STAMP: usize = 40;
/// A semicolon ends what has more words.
const CLAUSE_WORDS: usize = 3;

/// Where sentences of a line end, each behind its mark (bytes), the end of the line left out.
#[must_use]
pub fn sentence_ends(line: &str) -> Vec<usize> {
    let mut out = Vec::new();
    let mut start = 0;
    // What is read of a stamp is no sentence.
    let mut stamped = 0;
    for (at, c) in line.char_indices() {
        if at < start || at < stamped {
            continue;
        }
        if c == '[' {
            stamped = at + time_stamp(&line[at..]);
        }
        let behind = at + c.len_utf8();
        let (said, rest) = (&line[start..behind], &line[behind..]);
        let is_end = match c {
            '。' | '！' | '？' | '．' | '｡' | '۔' | '؟' | '।' | '॥' => true,
            '!' | '?' => rest.starts_with(char::is_whitespace),
            '.' => rest.starts_with(char::is_whitespace) && !goes_on(said, rest),
            ';' | '؛' => {
                rest.starts_with(char::is_whitespace)
                    && said.split_whitespace().count() > CLAUSE_WORDS
            }
            _ => false,
        };
        if is_end {
            // A quotation closes behind the mark, and so do marks that stand together.
            let closes = |c: char| "。！？」』”’）》".contains(c);
            let end = line.len() - rest.trim_start_matches(closes).len();
            let end = if c.is_ascii() { behind } else { end };
            out.push(end);
            start = end;
        }
    }
    out.retain(|end| *end < line.len());
    out
}

/// How many bytes of a text, which begins with a bracket, are a time in brackets; 0 where none is.
#[must_use]
pub fn time_stamp(text: &str) -> usize {
    let head = &text[..text.floor_char_boundary(STAMP)];
    let Some(end) = head.find(']') else { return 0 };
    let inner = &head[1..end];
    let is_of_time = |c: char| c.is_alphanumeric() || " :.,/-+年月日".contains(c);
    let digits = inner.chars().filter(char::is_ascii_digit).count();
    let letters = inner.chars().filter(|c| c.is_alphabetic()).count();
    let is_time = inner.contains([':', '.', '/', '-', '年', '月']) && digits >= 2;
    if is_time && letters <= digits.max(6) && inner.chars().all(is_of_time) { end + 1 } else { 0 }
}

/// Whether a full stop at the end of `said` ends no sentence where `rest` follows it.
fn goes_on(said: &str, rest: &str) -> bool {
    let next = rest.trim_start();
    let word = said.trim_end_matches('.');
    let is_open = |c: char| !c.is_alphanumeric() && !".-/§".contains(c);
    let word = word.rsplit(is_open).next().unwrap_or_default();
    let opens = next.chars().next();
    let is_number = |c: char| c.is_ascii_digit();
    if !word.is_empty() && word.chars().all(|c| is_number(c) || ".-/".contains(c)) {
        let before = said.trim_end_matches('.').strip_suffix(word).unwrap_or_default().trim_end();
        return is_ordinal(before, word, next);
    }
    if word.chars().count() == 1 && word.chars().all(char::is_alphabetic) {
        // The one letter that is a word of its own, too.
        return word != "I" || opens.is_some_and(char::is_lowercase);
    }
    let lower = word.to_lowercase();
    let is = |list: &[&str]| list.contains(&&*lower);
    let is_dotted = lower.contains('.') && lower.split('.').all(|one| one.chars().count() <= 2);
    is(TITLES)
        || (is_dotted || is(CLIPPED)) && !opens.is_some_and(char::is_uppercase)
        || (is(BEFORE_NUMBERS) || is_month(&lower))
            && opens.is_some_and(|c| is_number(c) || c == '§')
}

/// Whether a number with a full stop is one of an order or of a date, by what stands around it.
fn is_ordinal(before: &str, number: &str, next: &str) -> bool {
    let parts: Vec<&str> = number.split('.').collect();
    let small = |most: u32| move |part: &&str| part.parse::<u32>().is_ok_and(|it| it <= most);
    let is_day = match parts[..] {
        [day] => Some(day).filter(small(31)).is_some(),
        [day, month] => {
            Some(day).filter(small(31)).is_some() && Some(month).filter(small(12)).is_some()
        }
        _ => false,
    };
    if !is_day {
        return false;
    }
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let opens = next.chars().next();
    // A point of a list has nothing before it.
    let is_point = before.is_empty() || before.ends_with([':', '(', '-', '*', '#', '|']);
    let article = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    is_month(&word.to_lowercase())
        || parts.len() == 1 && (is_point || ARTICLES.contains(&&*article.to_lowercase()))
        || opens.is_some_and(|c| c.is_ascii_digit() || c.is_lowercase() || "–-/)].,".contains(c))
}

/// Whether a word is a month, whole or clipped.
fn is_month(word: &str) -> bool {
    let may_be_clipped = (3..=4).contains(&word.chars().count());
    MONTHS.iter().any(|month| word == *month || may_be_clipped && month.starts_with(word))
}

/// What stands before a name or a noun, in the languages of the ledger and some beside them.
const TITLES: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "sra", "dra", "mme", "mlle", "hr", "hrn", "frl",
    "dipl", "ing", "med", "jur", "phil", "sig", "dott", "dhr", "mevr", "drs", "gen", "gov", "sen",
    "rep", "capt", "lt", "sgt", "col", "rev", "vs", "cf", "bzw", "vgl", "sog", "inkl", "exkl",
    "evtl", "ggf", "zzgl", "approx", "e.g", "i.e", "z.b", "d.h", "p.ej", "p.ex", "bijv", "ул", "г",
    "им", "проф",
];
/// What is clipped and may end a sentence as well.
const CLIPPED: &[&str] = &[
    "etc", "usw", "inc", "ltd", "corp", "co", "jr", "bros", "ca", "min", "max", "mio", "mrd",
    "std", "tel", "str", "dept", "est", "ecc", "enz", "osv", "руб", "тыс", "млн", "мин", "др",
    "av", "env", "avg",
];
/// What is clipped in front of a number.
const BEFORE_NUMBERS: &[&str] = &[
    "no", "nos", "nr", "num", "art", "abs", "fig", "vol", "sec", "ch", "pp", "p", "pag", "pág",
    "kl", "ca", "tel", "ziff", "kap", "bd", "eq", "ver", "mt", "rs", "fr", "стр", "n.º", "núm",
];
/// What stands before an order in German, where nouns have capitals.
const ARTICLES: &[&str] = &[
    "am", "im", "zum", "vom", "beim", "der", "die", "das", "den", "dem", "des", "ein", "eine",
    "jeden",
];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "januar",
    "jänner",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
    "janvier",
    "février",
    "mars",
    "avril",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "gennaio",
    "febbraio",
    "aprile",
    "maggio",
    "giugno",
    "luglio",
    "settembre",
    "ottobre",
    "novembre",
    "dicembre",
    "janeiro",
    "fevereiro",
    "março",
    "maio",
    "junho",
    "julho",
    "setembro",
    "outubro",
    "novembro",
    "dezembro",
    "januari",
    "februari",
    "maart",
    "mei",
    "augustus",
    "desember",
    "января",
    "февраля",
    "марта",
    "апреля",
    "мая",
    "июня",
    "июля",
    "августа",
    "сентября",
    "октября",
    "ноября",
    "декабря",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences, parted by `|`.
    #[track_caller]
    fn check(expected: &str) {
        let line = expected.replace('|', "");
        let ends = sentence_ends(&line);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let ends = ends.iter().copied().chain([line.len()]);
        let found: Vec<&str> =
            starts.zip(ends).map(|(start, end)| line[start..end].trim()).collect();
        let expected: Vec<&str> = expected.split('|').map(str::trim).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn dates_and_ordinals_end_no_sentence() {
        check("Der Stand vom 31.12. bei 4.417 m³ gilt.| Firma Nagel kommt am 23. Januar.| Gut.");
        check("Bis zum 15. Februar.| Dann nicht mehr.");
        check("Im 19. Jahrhundert.| Am 3. Mai 2024 war es so.| Er wohnt im 3. Stock.");
        check("Steps: 1. Open it.| 2. Read it.| 3. Close it.| The limit is 5.| Keep it.");
        check("[05.02. 8:00] Patient Ek, 71.| He is well.| [05.02. 12:00] He sleeps.");
        check("It costs 120.| Then we pay 45.| Never more.");
        check("Use version 1.2.| Then go on.| Set it to 80.| then restart it.");
        check("Den 5. februar rejser vi.| Den 17. er vi hjemme.");
    }

    #[test]
    fn abbreviations_end_no_sentence() {
        check("Dr. Moe says so.| Ask Prof. Lie, Mrs. Berg or St. Olav.");
        check("Nimm z. B. Holz, d. h. Eiche, bzw. Buche.| Mit Frau Dr. Berg.");
        check("Siehe Abs. 3 und Nr. 7.| See fig. 4 on p. 12.| He said no.| Go.");
        check("Bolts, nuts etc. are here.| We sell bolts, etc.| Next week more.");
        check("It was him and I.| Then they left.");
        check("See you on Jan. 5 or Feb. 7.| I may.| Go on.");
    }

    #[test]
    fn other_scripts_end_at_their_own_marks() {
        check("我四号出发。|你呢？|好！|走吧");
        check("他说：“不去。”|我们走。");
        check("متى نذهب؟| غدا.| حسنا");
        check("یہ ٹھیک ہے۔| کل آؤ۔");
        check("यह ठीक है।| कल आओ।");
        check("내일 갑니다.| 같이 가요?| 네.");
    }
}
