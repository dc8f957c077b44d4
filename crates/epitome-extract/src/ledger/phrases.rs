//! By which words the model says what it did, does, will do and will not do.
//!
//! Invariant: spelled as `directive::normal` spells a text; a mark with a space before it begins a
//! sentence. Called by [`super::talk`]. The tables are laid out by hand:
//! a phrase a line would hide what belongs together.

use super::Language;

/// The phrases of one language.
#[derive(Clone, Copy)]
pub(super) struct Phrases {
    /// How an account of finished work begins.
    pub(super) done: &'static [&'static str],
    /// What tells of finished work wherever it stands.
    pub(super) passed: &'static [&'static str],
    /// How an account of work at hand begins.
    pub(super) doing: &'static [&'static str],
    /// How the next step is announced.
    pub(super) next: &'static [&'static str],
    /// What tells of something that was decided against.
    pub(super) rejected: &'static [&'static str],
    /// What a reason follows.
    pub(super) because: &'static [&'static str],
}

/// The phrases of a language.
pub(super) fn of(language: Language) -> Phrases {
    match language {
        Language::En => EN,
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

/// What makes any of it a plan, a guess or a wish.
pub(super) const UNSURE: &[&str] = &[
    " if ",
    " once ",
    " will ",
    " would ",
    " could ",
    " might ",
    " may ",
    " lets ",
    " let me ",
    " need to ",
    " needs to ",
    " should ",
    " not ",
    " didnt ",
    " dont ",
    " doesnt ",
    " havent ",
    " isnt ",
    " arent ",
    " wasnt ",
    " hasnt ",
    " cannot ",
    " cant ",
    " try ",
    " trying ",
    " failed ",
    " suggests ",
    " seems ",
    " appears ",
    " probably ",
    " likely ",
    " still ",
    " but ",
    " wenn ",
    " nicht ",
    " noch ",
    " werde ",
    " si ",
    " no ",
    " non ",
    " não ",
    " niet ",
    " если ",
    " не ",
];

#[rustfmt::skip]
pub(super) const EN: Phrases = Phrases {
    done: &[
        " i have added ", " i have created ", " i have fixed ", " i have implemented ",
        " i have updated ", " i have removed ", " i have renamed ", " i have refactored ",
        " i have written ", " i have moved ", " i have replaced ", " i have deleted ",
        " i have now ", " i have successfully ", " ive added ", " ive created ", " ive fixed ",
        " ive implemented ", " ive updated ", " ive removed ", " ive renamed ", " ive refactored ",
        " ive written ", " ive moved ", " ive replaced ", " ive deleted ", " ive now ",
        " ive successfully ", " i added ", " i created ", " i fixed ", " i implemented ",
        " i updated ", " i removed ", " i renamed ", " i refactored ", " i wrote ", " i moved ",
        " i replaced ", " i deleted ", " i reverted ", " added ", " fixed ", " implemented ",
        " removed ", " renamed ", " refactored ", " replaced ", " reverted ", " migrated ",
        " all tests pass", " all checks pass", " tests pass", " the tests pass",
        " all the tests pass", " the build passes", " the build succeeds", " done ",
        " successfully ",
    ],
    passed: &[
        " tests pass ", " tests now pass ", " tests are passing ", " tests are green ",
        " tests passed ", " checks pass ", " checks passed ", " is now fixed ",
        " is now complete ", " is now implemented ", " is now working ", " are now fixed ",
        " has been fixed ", " has been added ", " has been updated ", " has been removed ",
        " has been implemented ", " has been created ", " have been updated ",
        " has been successfully ", " have been successfully ", " was successful ",
    ],
    doing: &[
        " im now working on ", " i am now working on ", " im currently ", " i am currently ",
        " im working on ", " i am working on ", " currently working on ", " working on ",
        " in progress ",
    ],
    next: &[
        " next i will ", " next ill ", " next step ", " next steps ", " next up ", " next we ",
        " next lets ", " next i need ", " the next step is ", " after that ill ",
        " after that i will ", " then ill ", " then i will ", " i still need to ", " still to do ",
        " whats left is ", " what remains is ", " remaining tasks ", " remaining steps ",
        " remaining work ",
    ],
    rejected: &[
        " decided against ", " decided not to ", " ruled out ", " ruling out ", " rejected ",
        " discarded ", " abandoned ", " is not an option ", " isnt an option ", " i wont use ",
        " i will not use ", " not going to use ",
    ],
    because: &[" because ", " since ", " due to ", " as it ", " as that ", " — ", ": "],
};
#[rustfmt::skip]
const DE: Phrases = Phrases {
    done: &[" behoben ", " hinzugefügt ", " erledigt ", " umgesetzt ", " entfernt "],
    passed: &[
        " habe ich behoben ", " tests laufen durch ", " tests sind grün ", " tests bestehen ",
        " ich habe ", " wurde behoben ", " wurde hinzugefügt ", " ist jetzt behoben ",
        " ist nun behoben ", " wurde erstellt ", " wurde umgesetzt ",
    ],
    doing: &[" ich arbeite gerade ", " gerade arbeite ich ", " ich bin dabei ", " in arbeit "],
    next: &[
        " als nächstes ", " nächster schritt ", " nächste schritte ", " danach werde ich ",
        " es bleibt noch ",
    ],
    rejected: &[
        " dagegen entschieden ", " verworfen ", " entschied mich gegen ", " gegen die verwendung ",
    ],
    because: &[" weil ", " da es ", " da sie ", " wegen ", " — ", ": "],
};
#[rustfmt::skip]
const FR: Phrases = Phrases {
    done: &[
        " jai corrigé ", " jai ajouté ", " jai créé ", " jai mis à jour ", " jai supprimé ",
        " jai implémenté ", " jai écrit ", " jai remplacé ", " jai renommé ",
    ],
    passed: &[" tests passent ", " a été corrigé ", " a été ajouté ", " est maintenant corrigé "],
    doing: &[" je travaille sur ", " en cours ", " je suis en train "],
    next: &[" ensuite je ", " prochaine étape ", " prochaines étapes ", " il reste à "],
    rejected: &[" décidé de ne pas ", " écarté ", " rejeté ", " renoncé à "],
    because: &[" parce que ", " car ", " parce quil ", " à cause de ", " — ", ": "],
};
#[rustfmt::skip]
const ES: Phrases = Phrases {
    done: &[
        " he corregido ", " he añadido ", " he agregado ", " he creado ", " he actualizado ",
        " he eliminado ", " he implementado ", " he escrito ", " he reemplazado ",
    ],
    passed: &[" pruebas pasan ", " tests pasan ", " se ha corregido ", " ya está corregido "],
    doing: &[" estoy trabajando ", " en curso ", " actualmente estoy "],
    next: &[
        " a continuación ", " siguiente paso ", " próximo paso ", " el siguiente paso ",
        " queda por ",
    ],
    rejected: &[" decidí no ", " he decidido no ", " descarté ", " descartado ", " he descartado "],
    because: &[" porque ", " ya que ", " debido a ", " — ", ": "],
};
#[rustfmt::skip]
const IT: Phrases = Phrases {
    done: &[
        " ho corretto ", " ho aggiunto ", " ho creato ", " ho aggiornato ", " ho rimosso ",
        " ho implementato ", " ho scritto ", " ho sostituito ",
    ],
    passed: &[" test passano ", " è stato corretto ", " è stato aggiunto ", " è ora corretto "],
    doing: &[" sto lavorando ", " in corso "],
    next: &[
        " prossimo passo ", " il prossimo passo ", " successivamente ", " poi aggiungerò ",
        " resta da ",
    ],
    rejected: &[" deciso di non ", " scartato ", " ho escluso "],
    because: &[" perché ", " poiché ", " a causa di ", " — ", ": "],
};
#[rustfmt::skip]
const PT: Phrases = Phrases {
    done: &[
        " corrigi ", " adicionei ", " criei ", " atualizei ", " removi ", " implementei ",
        " escrevi ", " substituí ", " eu corrigi ", " eu adicionei ",
    ],
    passed: &[" testes passam ", " testes passaram ", " foi corrigido ", " foi adicionado "],
    doing: &[" estou trabalhando ", " em andamento "],
    next: &[" em seguida ", " próximo passo ", " o próximo passo ", " a seguir ", " falta "],
    rejected: &[" decidi não ", " descartei ", " descartado "],
    because: &[" porque ", " pois ", " já que ", " devido a ", " — ", ": "],
};
#[rustfmt::skip]
const NL: Phrases = Phrases {
    done: &[" opgelost ", " toegevoegd ", " klaar "],
    passed: &[" ik heb ", " tests slagen ", " is toegevoegd ", " is opgelost ", " is nu opgelost "],
    doing: &[" ik werk nu aan ", " ik ben bezig ", " bezig met "],
    next: &[" hierna ", " volgende stap ", " de volgende stap ", " daarna ga ik ", " vervolgens "],
    rejected: &[" besloten om niet ", " besloot niet ", " verworpen ", " afgezien van "],
    because: &[" omdat ", " want ", " vanwege ", " — ", ": "],
};
#[rustfmt::skip]
const RU: Phrases = Phrases {
    done: &[
        " я исправил ", " я добавил ", " я создал ", " я обновил ", " я удалил ", " я реализовал ",
        " исправлено ", " добавлено ", " готово ", " исправил ", " добавил ",
    ],
    passed: &[" тесты проходят ", " тесты пройдены ", " теперь исправлен "],
    doing: &[" сейчас работаю ", " я работаю над ", " в процессе "],
    next: &[" далее ", " следующий шаг ", " следующим шагом ", " затем я ", " осталось "],
    rejected: &[" решил не ", " отказался от ", " отклонено "],
    because: &[" потому что ", " так как ", " поскольку ", " из за ", " — ", ": "],
};
#[rustfmt::skip]
const ZH: Phrases = Phrases {
    done: &[
        " 已修复", " 已添加", " 已完成", " 已实现", " 已创建", " 已更新", " 已删除", " 我已", " 已经",
    ],
    passed: &["测试通过", "测试全部通过", "测试都通过"],
    doing: &[" 正在", " 我正在"],
    next: &[" 接下来", " 下一步", " 然后我会", " 剩下"],
    rejected: &["决定不", "放弃了", "否决"],
    because: &["因为", "由于", "——", "："],
};
#[rustfmt::skip]
const JA: Phrases = Phrases {
    done: &[],
    passed: &[
        "修正しました", "追加しました", "実装しました", "作成しました", "更新しました", "削除しました", "完了しました", "テストは通", "テストが通",
    ],
    doing: &[" 現在", " 作業中"],
    next: &[" 次に", " 次のステップ", " 次は", " 残りは"],
    rejected: &["採用しません", "見送", "不採用", "使わないことにし"],
    because: &["ため、", "ので、", "から、", "："],
};
#[rustfmt::skip]
const KO: Phrases = Phrases {
    done: &[],
    passed: &[
        "수정했습니다", "추가했습니다", "구현했습니다", "작성했습니다", "완료했습니다", "업데이트했습니다", "삭제했습니다", "테스트가 통과",
        "테스트를 통과",
    ],
    doing: &[" 현재 ", " 진행 중"],
    next: &[" 다음으로", " 다음 단계", " 다음은", " 남은"],
    rejected: &["하지 않기로", "제외했습니다", "기각"],
    because: &["때문에", " 왜냐하면 ", ": "],
};
