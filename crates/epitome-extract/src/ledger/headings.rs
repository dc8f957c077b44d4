//! The ledger's own words, in each language it speaks.
//!
//! Invariant: every language says all of them. Called by whoever renders a ledger.

use super::{FileChange, Language};

/// What the ledger says beside what it quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHeadings {
    /// Over what people order and forbid.
    pub constraints: &'static str,
    /// Over what people asked to be made.
    pub deliverables: &'static str,
    /// Over the latest to-do list or plan.
    pub plan: &'static str,
    /// Over what is being worked on.
    pub in_progress: &'static str,
    /// Over what comes next.
    pub next: &'static str,
    /// Over what the agent asked for and nobody answered.
    pub awaiting: &'static str,
    /// Over the files that calls touched.
    pub files: &'static str,
    /// Over what is done.
    pub done: &'static str,
    /// Over what was decided against.
    pub rejected: &'static str,
    /// Behind the number of lines that were left out.
    pub more: &'static str,
    /// A file that was read, modified, created, deleted.
    pub touched: [&'static str; 4],
}

impl LedgerHeadings {
    /// The words of a language.
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::En => &EN,
            Language::De => &DE,
            Language::Fr => &FR,
            Language::Es => &ES,
            Language::It => &IT,
            Language::Pt => &PT,
            Language::Nl => &NL,
            Language::Ru => &RU,
            Language::Zh => &ZH,
            Language::Ja => &JA,
            Language::Ko => &KO,
        }
    }

    /// What was done to a file.
    pub fn how(&self, how: FileChange) -> &'static str {
        let [read, modified, created, deleted] = self.touched;
        match how {
            FileChange::Read => read,
            FileChange::Modified => modified,
            FileChange::Created => created,
            FileChange::Deleted => deleted,
        }
    }
}

const EN: LedgerHeadings = LedgerHeadings {
    constraints: "Rules of the user (word for word)",
    deliverables: "Asked for",
    plan: "Plan",
    in_progress: "In progress",
    next: "Next",
    awaiting: "Waiting for the user's answer to",
    files: "Files",
    done: "Done",
    rejected: "Rejected",
    more: "more",
    touched: ["read", "modified", "created", "deleted"],
};
const DE: LedgerHeadings = LedgerHeadings {
    constraints: "Vorgaben des Nutzers (wörtlich)",
    deliverables: "Gewünscht",
    plan: "Plan",
    in_progress: "In Arbeit",
    next: "Als Nächstes",
    awaiting: "Offene Frage an den Nutzer",
    files: "Dateien",
    done: "Erledigt",
    rejected: "Verworfen",
    more: "weitere",
    touched: ["gelesen", "geändert", "angelegt", "gelöscht"],
};
const FR: LedgerHeadings = LedgerHeadings {
    constraints: "Règles de l'utilisateur (mot pour mot)",
    deliverables: "Demandé",
    plan: "Plan",
    in_progress: "En cours",
    next: "Ensuite",
    awaiting: "En attente de la réponse de l'utilisateur à",
    files: "Fichiers",
    done: "Fait",
    rejected: "Écarté",
    more: "de plus",
    touched: ["lu", "modifié", "créé", "supprimé"],
};
const ES: LedgerHeadings = LedgerHeadings {
    constraints: "Reglas del usuario (palabra por palabra)",
    deliverables: "Solicitado",
    plan: "Plan",
    in_progress: "En curso",
    next: "A continuación",
    awaiting: "A la espera de la respuesta del usuario a",
    files: "Archivos",
    done: "Hecho",
    rejected: "Descartado",
    more: "más",
    touched: ["leído", "modificado", "creado", "eliminado"],
};
const IT: LedgerHeadings = LedgerHeadings {
    constraints: "Regole dell'utente (parola per parola)",
    deliverables: "Richiesto",
    plan: "Piano",
    in_progress: "In corso",
    next: "Prossimi passi",
    awaiting: "In attesa della risposta dell'utente a",
    files: "File",
    done: "Fatto",
    rejected: "Scartato",
    more: "altri",
    touched: ["letto", "modificato", "creato", "eliminato"],
};
const PT: LedgerHeadings = LedgerHeadings {
    constraints: "Regras do usuário (palavra por palavra)",
    deliverables: "Pedido",
    plan: "Plano",
    in_progress: "Em andamento",
    next: "A seguir",
    awaiting: "À espera da resposta do usuário a",
    files: "Arquivos",
    done: "Feito",
    rejected: "Descartado",
    more: "mais",
    touched: ["lido", "modificado", "criado", "excluído"],
};
const NL: LedgerHeadings = LedgerHeadings {
    constraints: "Regels van de gebruiker (woordelijk)",
    deliverables: "Gevraagd",
    plan: "Plan",
    in_progress: "Bezig",
    next: "Hierna",
    awaiting: "Wacht op antwoord van de gebruiker op",
    files: "Bestanden",
    done: "Gedaan",
    rejected: "Verworpen",
    more: "meer",
    touched: ["gelezen", "gewijzigd", "aangemaakt", "verwijderd"],
};
const RU: LedgerHeadings = LedgerHeadings {
    constraints: "Правила пользователя (дословно)",
    deliverables: "Запрошено",
    plan: "План",
    in_progress: "В работе",
    next: "Далее",
    awaiting: "Ожидается ответ пользователя",
    files: "Файлы",
    done: "Сделано",
    rejected: "Отклонено",
    more: "ещё",
    touched: ["прочитан", "изменён", "создан", "удалён"],
};
const ZH: LedgerHeadings = LedgerHeadings {
    constraints: "用户的规则（原文）",
    deliverables: "用户的要求",
    plan: "计划",
    in_progress: "进行中",
    next: "下一步",
    awaiting: "等待用户答复",
    files: "文件",
    done: "已完成",
    rejected: "已否决",
    more: "项未列出",
    touched: ["已读", "已修改", "已创建", "已删除"],
};
const JA: LedgerHeadings = LedgerHeadings {
    constraints: "ユーザーの規則（原文）",
    deliverables: "依頼",
    plan: "計画",
    in_progress: "作業中",
    next: "次の作業",
    awaiting: "ユーザーの回答待ち",
    files: "ファイル",
    done: "完了",
    rejected: "不採用",
    more: "件省略",
    touched: ["読取", "変更", "作成", "削除"],
};
const KO: LedgerHeadings = LedgerHeadings {
    constraints: "사용자의 규칙 (원문)",
    deliverables: "요청",
    plan: "계획",
    in_progress: "진행 중",
    next: "다음",
    awaiting: "사용자의 답변 대기",
    files: "파일",
    done: "완료",
    rejected: "기각",
    more: "개 생략",
    touched: ["읽음", "수정", "생성", "삭제"],
};
