//! Which language a conversation is held in.
//!
//! Invariant: what is not clearly another language is English. Called by [`super::WorkLedger::of`],
//! on what people typed.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::words;

/// A language that the ledger has headings for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the codes of ISO 639")]
pub enum Language {
    #[default]
    En,
    De,
    Fr,
    Es,
    It,
    Pt,
    Nl,
    Ru,
    Zh,
    Ja,
    Ko,
}

/// So many function words must speak for a language that is written in Latin letters.
const ENOUGH: usize = 2;
/// So many make it clear.
const CLEARLY: usize = 6;

impl Language {
    /// The language of texts that people typed, by script and by common function words.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (letters, counts) = Self::counted(texts);
        letters.language().unwrap_or_else(|| by_words(&counts))
    }

    /// The language that texts are clearly in, by script or by many common function words; `None`
    /// where they are short, mixed, or hardly language at all.
    pub fn clearly<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (letters, counts) = Self::counted(texts);
        letters.language().or_else(|| clearly_by_words(&counts))
    }

    /// Its code of ISO 639.
    pub fn name(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
            Self::Es => "es",
            Self::It => "it",
            Self::Pt => "pt",
            Self::Nl => "nl",
            Self::Ru => "ru",
            Self::Zh => "zh",
            Self::Ja => "ja",
            Self::Ko => "ko",
        }
    }

    fn counted<'a>(
        texts: impl IntoIterator<Item = &'a str>,
    ) -> (Letters, [usize; FUNCTION_WORDS.len()]) {
        let mut letters = Letters::default();
        let known = LanguageBits::new();
        let mut counts = [0; FUNCTION_WORDS.len()];
        let mut word = String::new();
        for text in texts {
            text.chars().for_each(|c| letters.take(c));
            for range in words::words(text) {
                word.clear();
                word.extend(text[range].chars().flat_map(char::to_lowercase));
                known.count(&word, &mut counts);
            }
        }
        (letters, counts)
    }
}

/// For each function word: the languages it is one of, by place in [`FUNCTION_WORDS`], a bit each.
struct LanguageBits(FxHashMap<&'static str, u8>);

impl LanguageBits {
    fn new() -> Self {
        let mut out = FxHashMap::default();
        for (place, (_, words)) in FUNCTION_WORDS.iter().enumerate() {
            words.iter().for_each(|word| *out.entry(*word).or_default() |= 1 << place);
        }
        Self(out)
    }

    fn count(&self, word: &str, counts: &mut [usize; FUNCTION_WORDS.len()]) {
        let Some(languages) = self.0.get(word) else { return };
        for (place, count) in counts.iter_mut().enumerate() {
            *count += usize::from(languages >> place & 1);
        }
    }
}

/// English unless another language has more function words.
fn by_words(counts: &[usize]) -> Language {
    let mut best = (Language::En, counts.first().copied().unwrap_or_default().max(ENOUGH - 1));
    for ((language, _), count) in FUNCTION_WORDS.iter().zip(counts) {
        if *count > best.1 {
            best = (*language, *count);
        }
    }
    best.0
}

/// The language with many function words, and with clearly more than any other.
fn clearly_by_words(counts: &[usize]) -> Option<Language> {
    let known = || FUNCTION_WORDS.iter().map(|(language, _)| *language).zip(counts.iter().copied());
    let (best, most) = known().max_by_key(|(_, count)| *count)?;
    let next = known().filter(|(language, _)| *language != best).map(|(_, count)| count).max();
    (most >= CLEARLY && most * 2 >= next.unwrap_or_default() * 3).then_some(best)
}

/// Letters by script.
#[derive(Default)]
struct Letters {
    latin: usize,
    cyrillic: usize,
    /// Letters of Ukrainian, Belarusian and Serbian that Russian has not.
    other_cyrillic: usize,
    han: usize,
    kana: usize,
    hangul: usize,
}

impl Letters {
    fn take(&mut self, c: char) {
        match c {
            'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' => self.latin += 1,
            'і' | 'ї' | 'є' | 'ґ' | 'ў' | 'ј' | 'љ' | 'њ' | 'ћ' | 'ђ' => {
                self.other_cyrillic += 1;
            }
            '\u{400}'..='\u{4FF}' => self.cyrillic += 1,
            '\u{3041}'..='\u{30FF}' => self.kana += 1,
            '\u{4E00}'..='\u{9FFF}' => self.han += 1,
            '\u{AC00}'..='\u{D7AF}' | '\u{1100}'..='\u{11FF}' => self.hangul += 1,
            _ => {}
        }
    }

    /// The language of the script that is not Latin and still makes up much of the text: names and
    /// code are Latin in every language, and one ideograph says as much as a few letters.
    fn language(&self) -> Option<Language> {
        let ideographs = self.han + self.kana;
        if self.hangul * 4 > self.latin && self.hangul > ideographs {
            return Some(Language::Ko);
        }
        if ideographs * 6 > self.latin && ideographs > 0 {
            let japanese = self.kana * 8 > ideographs;
            return Some(if japanese { Language::Ja } else { Language::Zh });
        }
        let russian = self.cyrillic * 3 > self.latin && self.other_cyrillic * 50 < self.cyrillic;
        russian.then_some(Language::Ru)
    }
}

/// Common function words; English first.
const FUNCTION_WORDS: [(Language, &[&str]); 7] = [
    (
        Language::En,
        &[
            "the", "and", "is", "to", "of", "you", "that", "it", "for", "this", "with", "are",
            "not", "have", "please", "a", "be", "we", "what", "should", "can", "all", "don't",
            "an", "from", "my", "your",
        ],
    ),
    (
        Language::De,
        &[
            "der", "die", "das", "und", "ist", "nicht", "ich", "du", "bitte", "mit", "ein", "eine",
            "für", "auf", "zu", "den", "dem", "wir", "es", "auch", "nur", "immer", "alle", "wie",
            "einen", "sind", "noch",
        ],
    ),
    (
        Language::Fr,
        &[
            "le", "la", "les", "et", "est", "pas", "je", "tu", "vous", "nous", "dans", "pour",
            "une", "un", "des", "que", "avec", "sur", "ce", "du", "ne", "il", "qui", "au", "cette",
            "fichier", "jamais", "toujours",
        ],
    ),
    (
        Language::Es,
        &[
            "el", "la", "los", "las", "y", "es", "no", "que", "por", "para", "una", "un", "con",
            "en", "del", "se", "lo", "como", "al", "este", "esta", "nunca", "siempre", "sin",
            "más", "archivo",
        ],
    ),
    (
        Language::It,
        &[
            "il", "lo", "gli", "e", "è", "non", "che", "per", "una", "un", "con", "di", "della",
            "del", "sono", "questo", "nel", "i", "le", "mai", "sempre", "ma", "anche", "dei",
            "questa", "alla",
        ],
    ),
    (
        Language::Pt,
        &[
            "o", "os", "as", "e", "é", "não", "que", "por", "para", "uma", "um", "com", "em", "do",
            "da", "no", "na", "você", "dos", "sempre", "nunca", "mas", "mais", "este", "esta",
            "arquivo",
        ],
    ),
    (
        Language::Nl,
        &[
            "het", "de", "en", "een", "is", "niet", "van", "ik", "je", "dat", "voor", "met", "op",
            "zijn", "maar", "ook", "geen", "nooit", "altijd", "alle", "dit", "naar", "moet", "wel",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_told_from_what_people_type() {
        let check =
            |text: &str, expected: Language| assert_eq!(Language::of([text]), expected, "{text}");
        check("", Language::En);
        check("src/main.rs", Language::En);
        check("Please fix the parser and do not touch the lock file.", Language::En);
        check("Bitte repariere den Parser und ändere nicht die Lockdatei.", Language::De);
        check("Corrige le parseur et ne touche pas au fichier de verrouillage.", Language::Fr);
        check("Corrige el analizador y no toques el archivo de bloqueo.", Language::Es);
        check("Correggi il parser e non toccare il file di lock.", Language::It);
        check("Corrija o analisador e não toque no arquivo de bloqueio.", Language::Pt);
        check("Repareer de parser en raak het lockbestand niet aan.", Language::Nl);
        check("Исправь парсер в src/parser/main.rs и не трогай файл блокировки.", Language::Ru);
        check("修复 src/parser/main.rs 里的解析器，不要动锁文件。", Language::Zh);
        check(
            "src/parser.rs のパーサーを修正し、ロックファイルは変更しないでください。",
            Language::Ja,
        );
        check("파서를 고치고 잠금 파일은 건드리지 마세요.", Language::Ko);
        check("Виправ парсер і не чіпай файл блокування.", Language::En);
    }

    #[test]
    fn a_language_is_clear_only_where_there_is_much_of_it() {
        let check = |text: &str, expected: Option<Language>| {
            assert_eq!(Language::clearly([text]), expected, "{text}");
        };
        check("Please fix the parser.", None);
        check("src/main.rs, run_once, HAT028, ValueError", None);
        let english = "The parser is to be fixed and the lock file is not to be touched, for this";
        check(english, Some(Language::En));
        let german = "Der Parser ist zu reparieren und die Lockdatei ist nicht mit zu ändern, auch";
        check(german, Some(Language::De));
        check("파서를 고치고 잠금 파일은 건드리지 마세요.", Some(Language::Ko));
        check(&format!("{english}. {german}"), None);
    }
}
