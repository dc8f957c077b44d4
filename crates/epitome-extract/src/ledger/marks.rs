//! By which words people order, forbid and ask, in the languages beside English.
//!
//! Invariant: spelled as `directive::normal` spells a text: lower case, no apostrophes, words
//! between single spaces. Of scripts without spaces a mark may stand anywhere. Called by
//! [`super::rules`] and [`super::takeback`]; English is read by [`super::english`]. The tables are laid
//! out by hand: a mark a line would hide what belongs together.

use super::Language;

/// The marks of one language.
#[derive(Clone, Copy, Default)]
pub(super) struct Marks {
    /// How an order or a prohibition begins.
    pub(super) openings: &'static [&'static str],
    /// What orders or forbids wherever it stands.
    pub(super) orders: &'static [&'static str],
    /// What forbids unless the sentence begins like an account.
    pub(super) negations: &'static [&'static str],
    /// How an account begins.
    pub(super) accounts: &'static [&'static str],
    /// Verbs near the beginning of an account: what something does or is.
    pub(super) states: &'static [&'static str],
    /// What asks for something to be made.
    pub(super) makes: &'static [&'static str],
    /// What takes an order back.
    pub(super) releases: &'static [&'static str],
}

/// The marks of a language; English has none here.
pub(super) fn of(language: Language) -> Marks {
    match language {
        Language::En => Marks::default(),
        Language::De => DE,
        Language::Fr => FR,
        Language::Es => ES,
        Language::It => IT,
        Language::Pt => PT,
        Language::Nl => NL,
        Language::Ru => RU,
        Language::Zh => ZH,
        Language::Ja => JA,
        Language::Ko => KO,
    }
}

#[rustfmt::skip]
const DE: Marks = Marks {
    openings: &[
        " verwende ", " benutze ", " nutze ", " vermeide ", " achte darauf ", " halte ", " nur ",
        " kein ", " keine ", " keinen ", " antworte ", " ohne ",
    ],
    orders: &[
        " niemals ", " nie ", " auf keinen fall ", " immer ", " muss ", " müssen ", " darf ",
        " dürfen ", " darfst ", " soll ", " sollen ", " sollst ", " stets ", " unbedingt ",
        " ausschließlich ", " bitte nicht ", " bitte kein ", " bitte keine ", " verboten ",
    ],
    negations: &[" nicht ", " kein ", " keine ", " keinen "],
    accounts: &[
        " das ", " es ", " ich ", " wir ", " er ", " sie ", " die ", " der ", " den ", " dem ",
        " ein ", " eine ", " was ", " warum ", " wieso ", " wenn ", " ist ", " hat ", " war ",
        " da ", " dort ", " leider ", " hier ", " jetzt ", " so ", " aber ", " mir ", " nein ",
        " also ", " dann ", " irgendwie ", " geht ", " klappt ", " funktioniert ", " dies ",
        " diese ", " dieser ", " dieses ", " ob ", " weil ", " dass ", " vielleicht ", " mein ",
        " meine ", " noch ", " man ", " im ", " in ", " bei ",
    ],
    states: &[
        "ist", "sind", "war", "waren", "hat", "haben", "hatte", "hatten", "geht", "gehen", "kann",
        "können", "konnte", "wird", "werden", "wurde", "kommt", "klappt", "funktioniert", "stimmt",
        "passt", "gibt", "will", "wollte", "liegt", "steht", "stehen", "läuft", "reicht",
    ],
    makes: &[
        " erstelle ", " erstellen ", " schreibe ", " schreib ", " schreiben ", " baue ", " bau ",
        " implementiere ", " implementieren ", " füge ", " hinzufügen ", " ergänze ", " ergänzen ",
        " behebe ", " beheben ", " repariere ", " entwickle ", " ändere ", " aktualisiere ",
        " ersetze ", " entferne ", " übersetze ",
    ],
    releases: &[
        " darfst jetzt ", " darfst du jetzt ", " darfst nun ", " darfst du nun ", " darfst doch ",
        " vergiss ", " nicht mehr nötig ", " kannst jetzt ", " kannst du jetzt ", " nicht mehr ",
    ],
};
#[rustfmt::skip]
const FR: Marks = Marks {
    openings: &[
        " ne ", " nutilise ", " najoute ", " noublie ", " nécris ", " nessaie ", " nefface ",
        " évite ", " évitez ", " veille ", " veillez ", " assure toi ", " assurez vous ",
        " utilise ", " utilisez ", " pas de ", " garde ", " gardez ", " réponds ", " répondez ",
    ],
    orders: &[
        " jamais ", " toujours ", " doit ", " doivent ", " dois ", " devez ", " il faut ",
        " interdit ", " interdite ", " ne pas ", " uniquement ", " en aucun cas ",
    ],
    negations: &[" ne "],
    accounts: &[
        " je ", " il ", " elle ", " on ", " nous ", " ils ", " elles ", " ce ", " ça ", " cela ",
        " le ", " la ", " les ", " un ", " une ", " des ", " pourquoi ", " si ", " mais ",
        " quand ", " mon ", " ma ", " mes ", " cette ", " cet ", " ces ", " rien ",
    ],
    states: &[],
    makes: &[
        " crée ", " créez ", " créer ", " écris ", " écrivez ", " écrire ", " ajoute ",
        " ajoutez ", " ajouter ", " implémente ", " implémenter ", " construis ", " corrige ",
        " corrigez ", " corriger ", " développe ", " remplace ", " traduis ", " prépare ",
    ],
    releases: &[
        " peux maintenant ", " pouvez maintenant ", " oublie ", " oubliez ", " plus besoin ",
        " nest plus ",
    ],
};
#[rustfmt::skip]
const ES: Marks = Marks {
    openings: &[
        " no ", " evita ", " evite ", " usa ", " use ", " utiliza ", " utilice ", " asegúrate ",
        " asegúrese ", " mantén ", " solo ", " sólo ", " responde ", " sin ",
    ],
    orders: &[
        " nunca ", " siempre ", " debe ", " deben ", " debes ", " prohibido ", " prohibida ",
        " jamás ", " hay que ", " tienes que ", " bajo ningún ", " únicamente ", " por favor no ",
    ],
    negations: &[],
    accounts: &[
        " no funciona ", " no sé ", " no entiendo ", " no veo ", " no hay ", " no es ", " no me ",
        " no está ", " no creo ", " no puedo ", " no tengo ", " no era ", " no pasa ",
    ],
    states: &[],
    makes: &[
        " crea ", " crear ", " cree ", " escribe ", " escribir ", " añade ", " añadir ",
        " agrega ", " agregar ", " implementa ", " implementar ", " construye ", " corrige ",
        " corregir ", " arregla ", " arreglar ", " desarrolla ", " reemplaza ", " traduce ",
    ],
    releases: &[" ya puedes ", " ahora puedes ", " olvida ", " olvídate ", " ya no "],
};
#[rustfmt::skip]
const IT: Marks = Marks {
    openings: &[
        " non ", " evita ", " usa ", " utilizza ", " assicurati ", " mantieni ", " solo ",
        " rispondi ", " niente ",
    ],
    orders: &[
        " mai ", " sempre ", " deve ", " devono ", " devi ", " vietato ", " vietata ", " bisogna ",
        " in nessun caso ", " esclusivamente ", " per favore non ",
    ],
    negations: &[],
    accounts: &[
        " non funziona ", " non so ", " non capisco ", " non vedo ", " non ci ", " non è ",
        " non ho ", " non credo ", " non mi ", " non posso ", " non va ",
    ],
    states: &[],
    makes: &[
        " crea ", " creare ", " scrivi ", " scrivere ", " aggiungi ", " aggiungere ",
        " implementa ", " implementare ", " costruisci ", " correggi ", " correggere ",
        " sviluppa ", " sostituisci ", " traduci ", " prepara ",
    ],
    releases: &[" ora puoi ", " adesso puoi ", " dimentica ", " non serve più ", " non più "],
};
#[rustfmt::skip]
const PT: Marks = Marks {
    openings: &[
        " não ", " evite ", " use ", " usa ", " utilize ", " certifique se ", " mantenha ",
        " somente ", " apenas ", " responda ", " sem ",
    ],
    orders: &[
        " nunca ", " sempre ", " deve ", " devem ", " proibido ", " proibida ", " jamais ",
        " tem que ", " de forma alguma ", " exclusivamente ", " por favor não ",
    ],
    negations: &[],
    accounts: &[
        " não funciona ", " não sei ", " não entendo ", " não entendi ", " não vejo ", " não há ",
        " não é ", " não está ", " não tenho ", " não acho ", " não consigo ", " não foi ",
    ],
    states: &[],
    makes: &[
        " crie ", " cria ", " criar ", " escreva ", " escreve ", " escrever ", " adicione ",
        " adiciona ", " adicionar ", " implemente ", " implementar ", " construa ", " corrija ",
        " corrige ", " corrigir ", " desenvolva ", " substitua ", " traduza ", " prepare ",
    ],
    releases: &[
        " agora pode ", " já pode ", " esqueça ", " esquece ", " não precisa mais ",
        " não é mais ",
    ],
};
#[rustfmt::skip]
const NL: Marks = Marks {
    openings: &[
        " gebruik ", " vermijd ", " zorg ervoor ", " zorg dat ", " geen ", " alleen ", " houd ",
        " antwoord ", " zonder ",
    ],
    orders: &[
        " nooit ", " altijd ", " moet ", " moeten ", " mag niet ", " mag geen ", " mogen niet ",
        " verboten ", " in geen geval ", " uitsluitend ",
    ],
    negations: &[" niet ", " geen "],
    accounts: &[
        " het ", " dat ", " dit ", " ik ", " we ", " wij ", " hij ", " zij ", " ze ", " de ",
        " een ", " waarom ", " als ", " is ", " er ", " helaas ", " hier ", " nu ", " maar ",
        " nee ", " dan ", " werkt ", " mijn ", " die ", " deze ", " misschien ", " in ",
    ],
    states: &[],
    makes: &[
        " maak ", " maken ", " schrijf ", " schrijven ", " bouw ", " bouwen ", " voeg ",
        " toevoegen ", " implementeer ", " implementeren ", " repareer ", " herstel ",
        " ontwikkel ", " vervang ", " vertaal ",
    ],
    releases: &[
        " mag nu ", " kun nu ", " kan nu ", " vergeet ", " niet meer nodig ", " hoeft niet meer ",
    ],
};
#[rustfmt::skip]
const RU: Marks = Marks {
    openings: &[
        " не ", " избегай ", " избегайте ", " используй ", " используйте ", " только ",
        " убедись ", " убедитесь ", " никаких ", " отвечай ", " отвечайте ", " без ",
    ],
    orders: &[
        " никогда ", " всегда ", " должен ", " должна ", " должно ", " должны ", " нельзя ",
        " запрещено ", " запрещается ", " обязательно ", " ни в коем случае ", " исключительно ",
        " пожалуйста не ",
    ],
    negations: &[],
    accounts: &[
        " не работает ", " не знаю ", " не понимаю ", " не вижу ", " не могу ", " не думаю ",
        " не получается ", " не помню ", " не уверен ", " не то ", " не так ",
    ],
    states: &[],
    makes: &[
        " создай ", " создайте ", " создать ", " напиши ", " напишите ", " написать ", " добавь ",
        " добавьте ", " добавить ", " реализуй ", " реализуйте ", " исправь ", " исправьте ",
        " исправить ", " сделай ", " сделайте ", " перепиши ", " замени ", " переведи ",
        " подготовь ",
    ],
    releases: &[" теперь можно ", " теперь можешь ", " забудь ", " забудьте ", " больше не нужно "],
};
#[rustfmt::skip]
const ZH: Marks = Marks {
    openings: &[" 别", " 勿", " 只用", " 仅使用", " 请使用", " 使用", " 不准"],
    orders: &[
        "不要", "不得", "禁止", "必须", "务必", "绝不", "千万别", "请勿", "切勿", "始终", "一律", "只能", "不允许", "不可以",
        "不准", "永远不", "请用", "请避免", "一定要",
    ],
    negations: &[],
    accounts: &[],
    states: &[],
    makes: &[
        "创建", "编写", "写一个", "写一份", "实现", "添加", "增加", "新增", "修复", "生成", "开发", "重构", "重写", "翻译", "制作",
        "做一个",
    ],
    releases: &["现在可以", "不再需要", "忘掉", "不用再", "取消之前"],
};
#[rustfmt::skip]
const JA: Marks = Marks {
    openings: &[],
    orders: &[
        "ないでください", "ないで下さい", "しないこと", "禁止", "必ず", "絶対に", "てはいけない", "ではいけない", "てはならない", "常に",
        "べきです", "べきではない", "のみ使用", "だけを使", "使わないで", "するな", "を使用してください", "を使ってください", "でなければならない",
    ],
    negations: &[],
    accounts: &[],
    states: &[],
    makes: &[
        "作成して", "作って", "書いて", "追加して", "実装して", "修正して", "生成して", "開発して", "置き換えて", "翻訳して", "直して",
    ],
    releases: &["もう必要ない", "もう不要", "忘れてください", "してもいいです", "しても構いません"],
};
#[rustfmt::skip]
const KO: Marks = Marks {
    openings: &[" 절대 ", " 반드시 ", " 항상 ", " 꼭 "],
    orders: &[
        "하지 마", "지 마세요", "지 말", "마십시오", "반드시", "항상", "절대", "금지", "해야 합니다", "해야 해", "안 됩니다", "안 돼",
        "사용하세요", "사용해 주세요",
    ],
    negations: &[],
    accounts: &[],
    states: &[],
    makes: &[
        "만들어", "작성해", "작성하", "추가해", "추가하", "구현해", "구현하", "수정해", "고쳐", "생성해", "개발해", "번역해", "바꿔",
    ],
    releases: &["이제 해도", "해도 됩니다", "해도 돼", "잊어", "더 이상 필요"],
};
