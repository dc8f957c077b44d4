//! The words in which models refuse, introduce themselves or fail.
//!
//! Invariant: data; what stands here is in small letters with plain apostrophes, as it opens an
//! answer. Read by `candidate`.

/// How a refusal begins, or an answer of somebody who was asked nothing.
pub(super) const REFUSALS: &[&str] = &[
    // English
    "i'm sorry, but",
    "i am sorry, but",
    "sorry, but i",
    "sorry, i can",
    "i apologize, but",
    "i can't ",
    "i cannot ",
    "i can not ",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
    "i won't ",
    "i must decline",
    "unfortunately, i ",
    "as an ai",
    "as a language model",
    "hello! how can i",
    "hi! how can i",
    "how can i help",
    "how can i assist",
    "please provide the conversation",
    "there is no conversation",
    // German
    "es tut mir leid",
    "tut mir leid",
    "ich kann nicht",
    "ich kann dir nicht",
    "ich kann ihnen nicht",
    "ich kann das nicht",
    "ich kann diese",
    "leider kann ich",
    "als ki",
    "als sprachmodell",
    // French
    "je suis désolé",
    "désolé, ",
    "je ne peux pas",
    "je ne suis pas en mesure",
    "en tant qu'ia",
    "en tant que modèle",
    // Spanish
    "lo siento",
    "no puedo ",
    "como ia",
    "como modelo de lenguaje",
    // Italian
    "mi dispiace",
    "non posso ",
    "non sono in grado",
    "come modello linguistico",
    // Portuguese
    "sinto muito",
    "desculpe, ",
    "não posso ",
    "não consigo ",
    "como modelo de linguagem",
    // Dutch
    "het spijt me",
    "ik kan niet",
    "ik kan dat niet",
    "als taalmodel",
    // Russian
    "извините",
    "к сожалению, я",
    "я не могу",
    "как языковая модель",
    // Chinese
    "抱歉",
    "对不起",
    "很抱歉",
    "我无法",
    "我不能",
    "作为一个",
    // Japanese
    "申し訳",
    "すみませんが",
    "お手伝いできません",
    // Korean
    "죄송",
    "도와드릴 수 없",
];

/// How an error begins that somebody handed on as an answer.
pub(super) const ERRORS: &[&str] = &[
    "{\"error\"",
    "{\"detail\"",
    "{\"message\"",
    "<!doctype html",
    "<html",
    "error:",
    "error code",
    "api error",
    "internal server error",
    "service unavailable",
    "bad gateway",
    "gateway timeout",
    "upstream connect error",
    "rate limit",
    "too many requests",
    "request timed out",
    "connection refused",
    "context length exceeded",
    "traceback (most recent call last)",
    "http 4",
    "http 5",
];
