//! Relevance: which passages answer a query, and how well.
//!
//! Invariant: where no passage holds enough of the query's own words none is relevant, whatever else
//! it holds, and for a search only those that do; one word of a question by itself is a search for
//! it. Called by the ranking.

use crate::phrases::saying;
use crate::piece::Piece;
use crate::piece_terms::PieceTerms;
use crate::query::{Query, told};

/// How fast repetitions of a term stop to count (BM25 k1).
const SATURATION: f64 = 1.2;

/// How much long passages are held back (BM25 b). Passages are of one size, so little is needed.
const LENGTH: f64 = 0.4;

/// Exponent on the rarity of a term. A query may be a whole message, of which the rare words carry
/// the meaning.
const RARITY: f64 = 1.3;

/// What a passage gains from a neighbour that matches: a result from its call, a sentence from the
/// one before.
const SPREAD: f64 = 0.2;

/// How many passages on either side of one that answers a question are its surroundings.
const NEAR: usize = 4;

/// What words that follow each other as they were asked for add, in units of what one of them does.
const ORDER: f64 = 0.2;

/// How a passage answers a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Relevance {
    /// How well, between 0 and about 1; 0 where it does not answer.
    pub(crate) score: f64,
    /// Whether it may be returned: it holds enough of what the query tells, and all of its phrases;
    /// or the query is more than a search, another passage says several of its words, and it holds one
    /// of them or stands near one that answers.
    pub(crate) answers: bool,
    /// Whether all words of the query that follow each other do so in it.
    pub(crate) in_order: bool,
}

/// How passages answer a query.
#[derive(Debug, PartialEq)]
pub(crate) struct QueryMatch {
    /// The relevance of every passage, in their order.
    pub(crate) relevance: Vec<Relevance>,
    /// The phrases of the query that no passage says, and the words that none holds.
    pub(crate) missing: Vec<String>,
}

/// How passages answer a query.
pub(crate) fn matched(pieces: &[Piece<'_>], terms: &PieceTerms, query: &Query<'_>) -> QueryMatch {
    let hits = Hits::of(terms, query);
    QueryMatch {
        relevance: relevance(pieces, &hits, query),
        missing: missing(pieces, &hits, query),
    }
}

fn relevance(pieces: &[Piece<'_>], hits: &Hits, query: &Query<'_>) -> Vec<Relevance> {
    let scores = hits.scores(pieces.len());
    let best = scores.iter().copied().fold(0.0, f64::max);
    let (answers, is_answered) = hits.answers(pieces, query);
    if best == 0.0 {
        // Phrases of nothing but common words: all that say them do so equally well.
        let said =
            |answers| Relevance { score: f64::from(u8::from(answers)), answers, in_order: false };
        return answers.into_iter().map(said).collect();
    }
    let is_near = |at: usize| {
        let near = &answers[at.saturating_sub(NEAR)..(at + NEAR + 1).min(answers.len())];
        scores[at] > 0.0 || near.contains(&true)
    };
    let counts = |at: usize| answers[at] || is_answered && !query.is_search() && is_near(at);
    let pairs = hits.pairs(pieces.len());
    let own = |at: Option<usize>| at.and_then(|at| scores.get(at)).copied().unwrap_or_default();
    (0..scores.len())
        .map(|at| {
            if !counts(at) {
                return Relevance::default();
            }
            let neighbours = own(at.checked_sub(1)).max(own(Some(at + 1)));
            let score = (scores[at] + SPREAD * neighbours) / best;
            let in_order = query.pairs() > 0 && pairs[at] == query.pairs();
            Relevance { score, answers: true, in_order }
        })
        .collect()
}

fn missing(pieces: &[Piece<'_>], hits: &Hits, query: &Query<'_>) -> Vec<String> {
    let phrases = query.phrases();
    let said = saying(pieces, phrases);
    let unsaid = phrases.iter().zip(&said).filter(|(_, said)| !said.contains(&true));
    let held: Vec<bool> = hits.holders.iter().map(|&holders| holders > 0.0).collect();
    let told = hits.told(pieces.len());
    let words = query.missing(&told, &held).map(str::to_owned);
    unsaid.map(|(phrase, _)| format!("\"{phrase}\"")).chain(words).collect()
}

/// Which passage holds which term of the query, and how often.
struct Hits {
    found: Vec<TermHit>,
    /// Terms that follow each other in the query and in a passage, each once: by passage.
    ordered: Vec<(usize, (usize, usize))>,
    /// For every term: the number of passages that hold it.
    holders: Vec<f64>,
    /// For every passage: its length in terms.
    lengths: Vec<f64>,
}

struct TermHit {
    piece: usize,
    term: usize,
    times: f64,
}

impl Hits {
    fn of(terms: &PieceTerms, query: &Query<'_>) -> Self {
        let mut hits = Self {
            found: Vec::new(),
            ordered: Vec::new(),
            holders: vec![0.0; query.len()],
            lengths: Vec::new(),
        };
        for (at, terms) in terms.iter().enumerate() {
            let mut before = None;
            let (first, first_pair) = (hits.found.len(), hits.ordered.len());
            for &term in terms {
                let asked = query.term(term);
                if let Some(term) = asked {
                    match hits.found[first..].iter_mut().find(|hit| hit.term == term) {
                        Some(hit) => hit.times += 1.0,
                        None => hits.found.push(TermHit { piece: at, term, times: 1.0 }),
                    }
                }
                if let Some(pair) = before.zip(asked).filter(|&pair| query.is_pair(pair))
                    && !hits.ordered[first_pair..].contains(&(at, pair))
                {
                    hits.ordered.push((at, pair));
                }
                before = asked;
            }
            hits.lengths.push(terms.len() as f64);
            for hit in &hits.found[first..] {
                hits.holders[hit.term] += 1.0;
            }
        }
        hits
    }

    /// How well each passage matches, by its own words (BM25) and their order.
    fn scores(&self, count: usize) -> Vec<f64> {
        let passages = count as f64;
        let mean = (self.lengths.iter().sum::<f64>() / passages.max(1.0)).max(1.0);
        let rarity: Vec<f64> = self
            .holders
            .iter()
            .map(|&holders| (1.0 + (passages - holders + 0.5) / (holders + 0.5)).ln().powf(RARITY))
            .collect();
        let mut scores = vec![0.0; count];
        for hit in &self.found {
            let norm = 1.0 - LENGTH + LENGTH * self.lengths[hit.piece] / mean;
            let weight = hit.times * (SATURATION + 1.0) / (hit.times + SATURATION * norm);
            scores[hit.piece] += rarity[hit.term] * weight;
        }
        for &(piece, (before, after)) in &self.ordered {
            scores[piece] += ORDER * f64::midpoint(rarity[before], rarity[after]);
        }
        scores
    }

    /// What each term tells.
    fn told(&self, passages: usize) -> Vec<f64> {
        self.holders.iter().map(|&holders| told(passages as f64, holders)).collect()
    }

    /// Which passages hold enough of the query, and whether any of them says several of its words.
    /// Where it has phrases, these decide instead.
    fn answers(&self, pieces: &[Piece<'_>], query: &Query<'_>) -> (Vec<bool>, bool) {
        let phrases = query.phrases();
        if !phrases.is_empty() {
            let said = saying(pieces, phrases);
            let all = (0..pieces.len()).map(|at| said.iter().all(|said| said[at])).collect();
            return (all, false);
        }
        let told = self.told(pieces.len());
        let needed = query.needed(&told);
        let (mut answers, mut is_answered) = (vec![false; pieces.len()], false);
        for hits in self.found.chunk_by(|a, b| a.piece == b.piece) {
            let mut held = vec![false; query.len()];
            for hit in hits {
                held[hit.term] = true;
            }
            let does = query.held(&told, &held) > needed;
            answers[hits[0].piece] = does;
            is_answered |= does && query.is_said_together(&told, &held);
        }
        (answers, is_answered)
    }

    /// How many pairs of the query each passage has in order.
    fn pairs(&self, count: usize) -> Vec<usize> {
        let mut pairs = vec![0; count];
        for &(piece, _) in &self.ordered {
            pairs[piece] += 1;
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;

    fn of(texts: &[&str], query: &str) -> Vec<f64> {
        relevance_of(texts, query).iter().map(|found| found.score).collect()
    }

    fn relevance_of(texts: &[&str], query: &str) -> Vec<Relevance> {
        let pieces: Vec<Piece<'_>> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| Piece::alone(text, ContentId::for_text(text), order))
            .collect();
        matched(&pieces, &PieceTerms::read(&pieces), &Query::of(query)).relevance
    }

    /// The passages in order of relevance.
    #[track_caller]
    fn check(texts: &[&str], query: &str, expected: &[usize]) {
        let scores = of(texts, query);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        assert_eq!(order, expected, "{scores:?}");
    }

    #[test]
    fn no_hit_is_no_relevance() {
        assert_eq!(of(&["one", "two"], "three"), [0.0, 0.0]);
        assert_eq!(of(&["one", "two"], ""), [0.0, 0.0]);
        assert!(of(&[], "one").is_empty());
    }

    #[test]
    fn letters_and_quoted_common_words_are_found_where_they_stand() {
        assert_eq!(of(&["drive", "d", "to d or not"], "d"), [0.0, 1.0, 1.0]);
        assert_eq!(of(&["not to be", "be to"], "\"to be\""), [1.0, 0.0]);
        assert_eq!(of(&["a"], "a"), [0.0]);
    }

    #[test]
    fn half_a_path_is_not_the_path() {
        assert_eq!(of(&["see src/pool.rs", "rain"], "src/pol.rs"), [0.0, 0.0]);
    }

    #[test]
    fn stems_parts_and_wholes_match() {
        check(
            &["rain", "calls parse_body here", "sun"],
            "the parser of bodies: parse_body",
            &[1, 0, 2],
        );
        check(&["rain", "snow", "in src/theme.rs"], "themes", &[2, 0, 1]);
    }

    #[test]
    fn neighbours_share_a_little() {
        let scores = of(&["far owl", "beside", "the owl", "near owl", "owl away"], "owl");
        assert!(scores[1] == 0.0 && scores[2] > scores[0] && scores[3] > scores[0], "{scores:?}");
    }

    #[test]
    fn a_common_word_beside_unknown_ones_is_no_answer() {
        let texts = ["a file", "the file", "file of owls", "this file", "one file more"];
        assert_eq!(of(&texts, "flurb zork file"), [0.0; 5]);
        assert!(of(&texts, "flurb owl")[2] > 0.0);
        assert!(of(&texts, "file").iter().all(|score| *score > 0.0));
    }

    #[test]
    fn common_words_of_another_language_are_no_answer() {
        let texts = ["die Heizung ist mit dem Zähler verbunden", "der Hund war im Hof", "rain"];
        assert_eq!(of(&texts, "Was ist mit der Katze?"), [0.0; 3]);
        assert!(of(&texts, "Was ist mit der Heizung?")[0] > 0.0);
        assert_eq!(
            of(&["le vol de la nuit est plein", "rain"], "Où est le chat de la voisine ?"),
            [0.0; 2]
        );
    }

    #[test]
    fn a_question_that_is_answered_has_surroundings() {
        let texts = ["rain", "the owl of the old barn", "in the morning", "sun"];
        let asked = "do you still know which bird it was that lived in that old barn";
        assert_eq!(of(&texts, "old barn owl")[2], 0.0);
        assert!(relevance_of(&texts, asked).iter().all(|found| found.answers));
        // They end: what is far from it, and holds no word of the question, is not brought along.
        let far = [&texts[..], &["snow"; 9]].concat();
        let found: Vec<_> = relevance_of(&far, asked).iter().map(|it| it.answers).collect();
        assert_eq!(found, (0..13).map(|at| at <= 1 + NEAR).collect::<Vec<_>>());
        let nonsense = "do you still know which flurb it was that zorked in that quokka thing";
        assert!(!relevance_of(&texts, nonsense).iter().any(|found| found.answers));
    }

    #[test]
    fn one_word_of_a_question_is_a_search_for_it() {
        let texts = ["rain", "the owl of the old barn", "in the morning", "sun"];
        let asked = "flurb zork quokka blib zyzzyva nargle owl thing";
        let found: Vec<_> = relevance_of(&texts, asked).iter().map(|it| it.answers).collect();
        assert_eq!(found, [false, true, false, false]);
    }

    #[test]
    fn words_in_order_are_told_from_the_same_words_apart() {
        let texts = ["refused refused, and the connection", "connection was refused", "rain"];
        let found = relevance_of(&texts, "connection refused");
        let in_order: Vec<bool> = found.iter().map(|found| found.in_order).collect();
        assert_eq!(in_order, [false, true, false]);
    }

    #[test]
    fn phrases_must_occur() {
        let texts = ["connection was refused", "Connection\nrefused.", "disconnection refused"];
        let scores = of(&texts, "\"connection refused\"");
        assert!(scores[0] == 0.0 && scores[1] > 0.0 && scores[2] == 0.0, "{scores:?}");
    }
}
