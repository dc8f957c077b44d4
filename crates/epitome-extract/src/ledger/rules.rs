//! What people order, forbid and ask for.
//!
//! Invariant: every text is a sentence that a person typed, spaces folded. Called by
//! [`super::WorkLedger::of`].

use epitome_kernel::types::Speaker;
use rustc_hash::FxHashSet;

use super::marks::{self, Marks};
use super::typed::{self, TypedSentence};
use super::{Language, english, takeback};
use crate::unit::{self, TextUnit};
use crate::{demand, directive, supersede};

/// A longer sentence (in bytes) is no rule but a description.
const LONG: usize = 600;

/// A shorter sentence (in bytes) may be no more than a greeting.
const GREETING: usize = 16;

/// What people said that binds, and what they asked for.
pub(super) struct UserRules {
    /// Rules, word for word, oldest first.
    pub(super) said: Vec<Rule>,
    /// Those that stand: each once, oldest first.
    pub(super) rules: Vec<String>,
    /// What they asked to be made: each once, oldest first.
    pub(super) asked: Vec<String>,
}

/// A sentence that binds.
pub(crate) struct Rule {
    /// The message, by place in the list that was read.
    pub(crate) entry: usize,
    /// The sentence.
    pub(crate) text: String,
    /// Whether it was taken back since, or said anew with another value.
    pub(crate) stale: bool,
}

/// Reads the sentences of people.
pub(super) fn of(typed: &[TypedSentence<'_>], language: Language) -> UserRules {
    let marks = marks::of(language);
    let units: Vec<TextUnit<'_>> = typed.iter().map(unit).collect();
    let read = |(sentence, unit): (&TypedSentence<'_>, &TextUnit)| match sentence.listed {
        _ if unit.text.len() > LONG => SentenceKind::Talk,
        true => SentenceKind::Rule,
        false if !typed::is_own(&unit.text) => SentenceKind::Talk,
        false => kind(&unit.text, &marks),
    };
    let mut kinds: Vec<SentenceKind> = typed.iter().zip(&units).map(read).collect();
    if let Some(task) = task(&units, &kinds) {
        kinds[task] = SentenceKind::Request;
    }
    let rules: Vec<bool> = kinds.iter().map(|kind| *kind == SentenceKind::Rule).collect();
    let stale = if rules.contains(&true) {
        let mut stale = supersede::superseded_of(&units, &[], |unit| rules[unit]);
        takeback::strike(&units, &rules, &marks, &mut stale);
        stale
    } else {
        vec![false; units.len()]
    };
    let mut seen = FxHashSet::default();
    let mut out = UserRules { said: Vec::new(), rules: Vec::new(), asked: Vec::new() };
    for ((unit, kind), stale) in units.into_iter().zip(kinds).zip(stale) {
        if kind == SentenceKind::Rule {
            out.said.push(Rule { entry: unit.entry(), text: unit.text.to_string(), stale });
        }
        let list = match kind {
            SentenceKind::Rule if !stale => &mut out.rules,
            SentenceKind::Request => &mut out.asked,
            SentenceKind::Rule | SentenceKind::Talk => continue,
        };
        if seen.insert(directive::normal(&unit.text)) {
            list.push(unit.text.into_owned());
        }
    }
    out
}

/// The sentence that a conversation begins its task with, where its first message asks for nothing
/// in so many words: the first that is no rule and more than a greeting.
fn task(units: &[TextUnit<'_>], kinds: &[SentenceKind]) -> Option<usize> {
    let first = units.first()?.entry();
    let opening = || (0..units.len()).take_while(|&unit| units[unit].entry() == first);
    let asks = opening().any(|unit| kinds[unit] == SentenceKind::Request);
    let says = |unit: &usize| {
        let text = &units[*unit].text;
        kinds[*unit] == SentenceKind::Talk && text.len() > GREETING && text.len() <= LONG
    };
    if asks { None } else { opening().find(says) }
}

/// What a sentence of a person is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentenceKind {
    /// It orders or forbids.
    Rule,
    /// It asks for something to be made.
    Request,
    /// It does neither.
    Talk,
}

/// What a sentence is, in English or in the conversation's language.
fn kind(text: &str, marks: &Marks) -> SentenceKind {
    let english = english::EnglishSentence::of(text);
    let spaced = directive::spaced(text);
    if !text.ends_with(['?', '？'])
        && (binds(&spaced, marks) || english.is_rule() && !tells(&spaced, marks))
    {
        SentenceKind::Rule
    } else if english.is_request() || marks.makes.iter().any(|mark| spaced.contains(mark)) {
        SentenceKind::Request
    } else {
        SentenceKind::Talk
    }
}

/// Whether it orders or forbids in the conversation's language.
fn binds(spaced: &str, marks: &Marks) -> bool {
    if demand::is_hearsay(spaced) {
        return false;
    }
    let tells = tells(spaced, marks);
    let holds = |list: &[&str]| list.iter().any(|mark| spaced.contains(mark));
    let begins = marks.openings.iter().any(|mark| spaced.starts_with(mark));
    let orders =
        |mark: &&str| spaced.contains(mark) && !(tells && demand::OFTEN_TOLD.contains(mark));
    marks.orders.iter().any(orders) || (begins || holds(marks.negations)) && !tells
}

/// Whether it begins like an account of how things are: with a word that opens one, or with something
/// and what that does.
fn tells(spaced: &str, marks: &Marks) -> bool {
    let mut behind = spaced.split_whitespace().skip(1).take(2);
    marks.accounts.iter().any(|mark| spaced.starts_with(mark))
        || behind.any(|word| marks.states.contains(&word))
}

fn unit<'a>(sentence: &TypedSentence<'a>) -> TextUnit<'a> {
    let is_folded = !sentence.text.contains("  ") && !sentence.text.contains(is_other_space);
    let text = match is_folded {
        true => sentence.text.into(),
        false => sentence.text.split_whitespace().collect::<Vec<_>>().join(" ").into(),
    };
    let (speaker, kind) = (Speaker::Human, unit::UnitKind::Sentence);
    TextUnit { speaker, kind, ..TextUnit::bare(text) }.in_entry(sentence.entry)
}

/// Whether it is white space and no blank.
fn is_other_space(c: char) -> bool {
    c != ' ' && c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::Entry;
    use epitome_testkit::chat;

    use super::*;
    use crate::ledger::typed;

    fn check(messages: &[&str], rules: &[&str], asked: &[&str]) {
        let entries = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let typed = typed::sentences(&entries.iter().collect::<Vec<&Entry>>());
        let language = Language::of(typed.iter().map(|sentence| sentence.text));
        let found = of(&typed, language);
        assert_eq!((found.rules, found.asked), (owned(rules), owned(asked)), "{language:?}");
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_language_orders_and_asks() {
        check(
            &["Bitte schreibe einen Parser. Ändere nicht die Lockdatei. Das geht leider nicht."],
            &["Ändere nicht die Lockdatei."],
            &["Bitte schreibe einen Parser."],
        );
        check(
            &[
                "Schreibe einen Brief. Montag geht nicht. Herr Ohm war da, aber nicht lange. Die Tonnen stehen immer noch da. Er kommt nie \
                 pünktlich, sagt er. Der Nachbar sagt, Katzen seien verboten. Er darf nicht anrufen.",
            ],
            &["Er darf nicht anrufen."],
            &["Schreibe einen Brief."],
        );
        check(
            &[
                "Écris un parseur pour le projet. Ne touche pas au fichier de verrouillage. Je ne sais pas.",
            ],
            &["Ne touche pas au fichier de verrouillage."],
            &["Écris un parseur pour le projet."],
        );
        check(
            &[
                "Escribe un analizador para el proyecto. No toques el archivo de bloqueo. No sé por qué falla.",
            ],
            &["No toques el archivo de bloqueo."],
            &["Escribe un analizador para el proyecto."],
        );
        check(
            &[
                "Scrivi un parser per il progetto. Non toccare il file di lock. Non so perché non va.",
            ],
            &["Non toccare il file di lock."],
            &["Scrivi un parser per il progetto."],
        );
        check(
            &[
                "Escreva um analisador para o projeto. Não toque no arquivo de bloqueio. Não sei por que falha.",
            ],
            &["Não toque no arquivo de bloqueio."],
            &["Escreva um analisador para o projeto."],
        );
        check(
            &[
                "Schrijf een parser voor het project. Raak het lockbestand niet aan. Dat werkt niet.",
            ],
            &["Raak het lockbestand niet aan."],
            &["Schrijf een parser voor het project."],
        );
        check(
            &["Напиши парсер для проекта. Не трогай файл блокировки. Не понимаю, почему падает."],
            &["Не трогай файл блокировки."],
            &["Напиши парсер для проекта."],
        );
        check(
            &["请编写一个解析器。不要修改锁文件。构建失败了。"],
            &["不要修改锁文件。"],
            &["请编写一个解析器。"],
        );
        check(
            &[
                "パーサーを書いてください。ロックファイルは変更しないでください。ビルドが失敗しました。",
            ],
            &["ロックファイルは変更しないでください。"],
            &["パーサーを書いてください。"],
        );
        check(
            &["파서를 작성해 주세요. 잠금 파일은 수정하지 마세요. 빌드가 실패했습니다."],
            &["잠금 파일은 수정하지 마세요."],
            &["파서를 작성해 주세요."],
        );
    }

    #[test]
    fn the_task_is_what_the_conversation_opens_with() {
        check(
            &[
                "Hi there! Find out why the deployment fails. Keep port 8443.",
                "The logs are there.",
            ],
            &["Keep port 8443."],
            &["Find out why the deployment fails."],
        );
        check(&["It is slow. Write a bench.", "Ok."], &[], &["Write a bench."]);
    }

    #[test]
    fn a_rule_counts_once_and_english_counts_everywhere() {
        check(
            &["Never push.  Never push!", "Nutze bitte die Tabelle und nie den Cache."],
            &["Never push.", "Nutze bitte die Tabelle und nie den Cache."],
            &[],
        );
    }
}
