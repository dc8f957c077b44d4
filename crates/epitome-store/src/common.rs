//! Words of other languages than English that say nothing about what a text is about.
//!
//! Invariant: they are passed over in a query alone, and only where it is written in their language: many
//! are names or words of weight in another one (`die`, `man`, `MIT`, `war`). What is indexed holds them.

use std::collections::BTreeSet;

use crate::terms::{is_common, runs};

/// So many words of one language make a query one in it.
const WORDS: usize = 2;

/// The common words of the languages that a query is written in.
pub(crate) fn common_in(query: &str) -> Vec<&'static str> {
    // Of what is common in English nobody can tell which language it is of.
    let words = runs(query).map(str::to_lowercase).filter(|word| !is_common(word));
    let words: BTreeSet<String> = words.collect();
    let is_spoken = |common: &&&str| {
        let found = common.split_whitespace().filter(|word| words.contains(*word));
        found.collect::<BTreeSet<_>>().len() >= WORDS
    };
    LANGUAGES.iter().filter(is_spoken).flat_map(|words| words.split_whitespace()).collect()
}

/// German, French, Spanish, Italian, Portuguese, Dutch.
const LANGUAGES: [&str; 6] = [
    "aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des \
     die dies diese dieser dir doch du ein eine einem einen einer eines er es euch für gibt hat habe haben \
     hatte hier ich ihm ihn ihr im in ist ja jetzt kann kein keine können man mehr mein mich mir mit muss \
     nach nicht noch nur ob oder ohne sein seine sich sie sind so soll über um und uns unser unter viel vom \
     von vor wann war warum was weil welche welcher wenn wer werden wie wieder wir wird wo wurde zu zum zur",
    "ai alors au aux avec avez avons ce ces cet cette chez comme comment dans de des donc du elle elles en \
     encore est et été être eu il ils je la le les leur leurs lui ma mais me mes moi mon ne ni nos notre \
     nous on ont ou où par pas peut plus pour pourquoi qu quand que quel quelle quels qui sa sans se ses si \
     son sont sur ta te tes toi ton tous tout très tu un une va vos votre vous y",
    "al algo ante antes aquí así aunque cada como cómo con cual cuál cuando cuándo de del desde donde dónde \
     dos el él ella ellos en entre era es esa ese eso esta está este esto fue ha hace han hasta hay la las \
     le les lo los más me mi mis muy nada ni no nos o otra otro para pero poco por porque qué que quién se \
     sea ser si sí sin sobre son su sus también tan te tiene todo todos tu tus un una uno y ya yo",
    "ad ai al alla alle allo anche ancora che chi ci come con cosa cui da dal dalla dei del della delle di \
     dopo dove e è era fra gli ha hai hanno ho i il in io la le lei li lo loro lui ma me mi mia mio molto \
     ne nei nel nella no noi non nostro o ogni per perché più poi prima può quale quando quanto quella \
     quello questa questo qui se sei si sì sia sono sta su sua sue sul suo te ti tra tu tutto un una uno vi",
    "a ainda ao aos as até com como da das de dela dele depois do dos e é ela ele eles em era essa esse esta \
     está este eu foi há isso isto já lhe mais mas me meu minha muito na não nas nem no nos nós num numa o \
     onde os ou para pela pelo por porque qual quando que quem são se seja sem ser seu seus só sua suas \
     também te tem ter teu tu tua tudo um uma você",
    "aan al alleen als altijd ben bij daar dan dat de deze die dit doen door dus een en er ge geen haar had \
     heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij kan kon kunnen maar me meer \
     men met mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over reeds te toch \
     toen tot u uit uw van veel voor waar want waren was wat we wel werd wie wij wil worden zal ze zei zelf \
     zich zij zijn zo zonder zou",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, passed: &[&str], kept: &[&str]) {
        let common = common_in(query);
        assert!(passed.iter().all(|word| common.contains(word)), "{query}");
        assert!(!kept.iter().any(|word| common.contains(word)), "{query}");
    }

    #[test]
    fn a_query_is_read_in_its_own_language() {
        check("Was ist mit der Katze?", &["was", "ist", "mit", "der"], &["katze"]);
        check("Où est le chat de la voisine ?", &["où", "est", "le"], &["chat", "voisine"]);
        check("¿Qué hay en la caja?", &["qué", "en", "la"], &["caja"]);
        check("MIT license", &[], &["mit", "license"]);
        check("the war", &[], &["war"]);
        check("man pages", &[], &["man"]);
        check("is the door open in room 2", &[], &["door"]);
    }
}
