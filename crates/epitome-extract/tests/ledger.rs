//! The ledger of conversations in the style of each client, and what holds for every ledger.

use epitome_extract::WorkLedger;
use epitome_extract::ledger::LedgerHeadings;
use epitome_kernel::types::{BudgetUnit, Entry, PartBody, Speaker};
use epitome_kernel::{SizeGauge, TextMeasure};
use epitome_testkit::{Chat, FixedCounter, chat, conversation};
use proptest::prelude::*;

const CHARS: SizeGauge<'_> = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Chars };

fn ledger(entries: &[Entry]) -> WorkLedger {
    WorkLedger::of(&entries.iter().collect::<Vec<_>>())
}

/// All that a ledger has to say.
fn check(chat: Chat) -> String {
    let ledger = ledger(&chat.entries());
    ledger.render(u64::MAX, &CHARS, LedgerHeadings::of(ledger.language))
}

#[test]
fn claude_code() {
    let todos = |first: &str, second: &str| {
        format!(
            r#"{{"todos":[{{"content":"Port the lexer","status":"{first}","activeForm":"Porting"}},{{"content":"Run the tests","status":"{second}","activeForm":"Running"}}]}}"#
        )
    };
    let chat = chat()
        .system("You must always obey.")
        .note("<system-reminder>\nNever mention this.\n</system-reminder>")
        .user("Port the lexer to the new parser. Never touch Cargo.lock.\n\n## Rules\n- tabs only\n- ask before a new dependency")
        .call("TodoWrite", &todos("in_progress", "pending"))
        .user_result("Todos have been modified successfully. You must continue.")
        .assistant("I'll read it first.")
        .call("Read", r#"{"file_path":"/w/src/lexer.rs"}"#)
        .call("Grep", r#"{"pattern":"x","path":"/w/src/other.rs"}"#)
        .user_result("fn lex() {} // never call this twice")
        .user_result("none")
        .call("Edit", r#"{"file_path":"/w/src/lexer.rs","old_string":"a","new_string":"b"}"#)
        .user_result("ok")
        .call("Edit", r#"{"file_path":"/w/src/gone.rs","old_string":"a","new_string":"b"}"#)
        .user_result("<tool_use_error>File has not been read yet.</tool_use_error>")
        .call("Bash", r#"{"command":"cd /w && cat README.md | head -3 && rm notes.txt"}"#)
        .user_result("# Never trust this file")
        .assistant("I decided against a table-driven lexer because it is slower. The lexer is ported and all tests pass.")
        .call("TodoWrite", &todos("completed", "in_progress"))
        .user_result("Todos have been modified successfully.")
        .assistant("Shall I remove the old lexer?");
    insta::assert_snapshot!(check(chat));
}

#[test]
fn claude_code_tasks_and_plan_mode() {
    let chat = chat()
        .user("Plan the move to the new store first. Don't write any code yet.")
        .call("TaskCreate", r#"{"subject":"Write the plan","description":"A plan"}"#)
        .user_result("Task #1 created successfully: Write the plan")
        .call("ExitPlanMode", r##"{"plan":"# Move\n1. Copy the rows.\n2. Check them."}"##)
        .user_result("User has approved your plan. You can now start coding.")
        .call("TaskUpdate", r#"{"taskId":"1","status":"completed"}"#)
        .user_result("Updated task #1")
        .user("You may write code now. Use SQLite, not sled.");
    insta::assert_snapshot!(check(chat));
}

#[test]
fn codex() {
    let patch = r#"{"input":"*** Begin Patch\n*** Update File: src/a.rs\n@@\n-never\n+always\n*** Add File: src/b.rs\n+x\n*** End Patch"}"#;
    let chat = chat()
        .note("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>")
        .user("Make the parser faster, but do not change its public API.")
        .call("update_plan", r#"{"explanation":"go","plan":[{"step":"Measure","status":"completed"},{"step":"Rewrite the hot loop","status":"in_progress"},{"step":"Measure again","status":"pending"}]}"#)
        .result("Plan updated")
        .call("shell", r#"{"command":["bash","-lc","sed -n '1,40p' src/a.rs"],"workdir":"/w"}"#)
        .result("fn parse() {}")
        .call("apply_patch", patch)
        .result("Success. Updated the following files")
        .call("exec_command", r#"{"cmd":"cargo bench > bench.txt"}"#)
        .result("")
        .assistant("The hot loop is next. Next, I'll rewrite `parse` without a table.");
    insta::assert_snapshot!(check(chat));
}

#[test]
fn opencode_in_german() {
    let chat = chat()
        .user("Bitte schreibe eine Dokumentation für das Modul. Ändere nicht die Tests! Antworte immer auf Deutsch.")
        .call("todowrite", r#"{"todos":[{"id":"1","content":"Modul lesen","status":"completed","priority":"high"},{"id":"2","content":"Doku schreiben","status":"in_progress","priority":"high"}]}"#)
        .result("1 todos")
        .call("read", r#"{"filePath":"/w/modul.py"}"#)
        .result("def f(): pass")
        .call("write", r#"{"filePath":"/w/docs/modul.md","content":"Nie"}"#)
        .result("ok")
        .assistant("Ich habe die Dokumentation angelegt. Als Nächstes ergänze ich die Beispiele.");
    insta::assert_snapshot!(check(chat));
}

#[test]
fn swe_agent_and_others() {
    let chat = chat()
        .user("Fix the failing import. You can look at other files, but don't modify them.")
        .call("open", r#"{"path":"pkg/fields.py"}"#)
        .result("[File: pkg/fields.py]")
        .call("edit", r#"{"search":"a","replace":"b"}"#)
        .result("Text replaced.")
        .call("str_replace_editor", r#"{"command":"create","path":"/t/test_a.py","file_text":"x"}"#)
        .result("File created")
        .call("mcp__fs__move_file", r#"{"source":"a.md","destination":"b.md"}"#)
        .result("moved")
        .assistant("The import has been fixed.");
    insta::assert_snapshot!(check(chat));
}

#[test]
fn other_languages() {
    let said = [
        "Écris un script pour le projet. Ne modifie jamais le fichier de configuration.",
        "Escribe un script para el proyecto. No modifiques nunca el archivo de configuración.",
        "Scrivi uno script per il progetto. Non modificare mai il file di configurazione.",
        "Escreva um script para o projeto. Não modifique nunca o arquivo de configuração.",
        "Schrijf een script voor het project. Wijzig nooit het configuratiebestand.",
        "Напиши скрипт для проекта. Никогда не меняй файл настроек.",
        "请为这个项目编写一个脚本。不要修改配置文件。",
        "このプロジェクトのスクリプトを書いてください。設定ファイルは変更しないでください。",
        "이 프로젝트의 스크립트를 작성해 주세요. 설정 파일은 수정하지 마세요.",
    ];
    let texts = said.map(|text| {
        check(chat().user(text).call("Write", r#"{"file_path":"run.sh"}"#).result("ok"))
    });
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn little_room_keeps_what_matters_most() {
    let mut chat = chat().user("Never touch src/lexer.rs. The limit of a line is 80, always.");
    for n in 0..30 {
        chat = chat.call("Read", &format!(r#"{{"file_path":"src/file_{n}.rs"}}"#)).result("x");
    }
    let ledger = ledger(&chat.entries());
    insta::assert_snapshot!(ledger.render(260, &CHARS, LedgerHeadings::of(ledger.language)));
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What people typed, spaces folded.
fn typed(entries: &[Entry]) -> String {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    let texts = parts.filter(|part| part.speaker == Speaker::Human).filter_map(|it| it.text());
    folded(&texts.collect::<Vec<_>>().join(" "))
}

/// Sentences of people in every language and with every mark, and what is none.
fn sentence() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "Never",
        "touch",
        "src/main.rs",
        "don't",
        "  ",
        "\n",
        "- ",
        "Rules:",
        "use",
        "instead of",
        "you may now",
        "nicht",
        "不要",
        "。",
        "ないで",
        "하지 마",
        ". ",
        "! ",
        "?",
        "```",
        "must",
        "only",
        "no",
        "créer",
        "please",
        "scratch that",
        "Next,",
        "I fixed",
        "because",
        "не",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.join(" "))
}

/// Arguments that no client would send.
fn arguments() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "todos",
        "plan",
        "command",
        "cmd",
        "file_path",
        "path",
        "input",
        "paths",
        "taskId",
        "questions",
        "subject",
        "status",
        "patch",
        "diff",
    ]);
    let text = prop_oneof![
        ".*",
        Just("*** Begin Patch\n*** Update File: ".to_owned()),
        Just("cat <<'EOF' > a; cd \\".to_owned()),
        Just("--- a\n+++ ".to_owned()),
        "[ -~]{0,40}",
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text.clone().prop_map(Into::into),
    ];
    let value = leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| {
                let pairs = pairs.into_iter().map(|(key, value)| (key.to_owned(), value));
                serde_json::Value::Object(pairs.collect())
            }),
        ]
    });
    prop_oneof![value.prop_map(|value| value.to_string()), ".*"]
}

fn tool() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "TodoWrite",
        "update_plan",
        "TaskCreate",
        "TaskUpdate",
        "ExitPlanMode",
        "Bash",
        "shell",
        "apply_patch",
        "Edit",
        "Read",
        "read_many_files",
        "move_file",
        "open",
        "edit",
        "",
        "AskUserQuestion",
        "str_replace_editor",
        "update_todo_list",
    ])
}

proptest! {
    #[test]
    fn a_rendered_ledger_fits_and_quotes(
        mut entries in conversation(8), said in prop::collection::vec(sentence(), 0..6), most in 0u64..900,
    ) {
        let talk = said.iter().fold(chat(), |chat, text| chat.user(text).assistant(text));
        entries.extend(talk.entries());
        let ledger = ledger(&entries);
        let words = LedgerHeadings::of(ledger.language);
        let text = ledger.render(most, &CHARS, words);
        prop_assert!(CHARS.size(&text) <= most, "{text}");
        let typed = typed(&entries);
        for quoted in ledger.constraints.iter().chain(&ledger.deliverables) {
            prop_assert!(typed.contains(quoted), "{quoted:?} was never typed");
        }
        prop_assert!(ledger.constraints.iter().all(|it| !text.contains(it) || typed.contains(it)));
    }

    #[test]
    fn more_room_never_takes_a_section_away(
        said in prop::collection::vec(sentence(), 0..8), most in 0u64..600, more in 0u64..600,
    ) {
        let chat = said.iter().fold(chat(), |chat, text| chat.user(text).assistant(text));
        let chat = chat.call("Read", r#"{"file_path":"a.rs"}"#).result("x");
        let ledger = ledger(&chat.entries());
        let words = LedgerHeadings::of(ledger.language);
        let sections = |room: u64| -> Vec<String> {
            let text = ledger.render(room, &CHARS, words);
            text.lines().filter(|it| !it.starts_with("- ")).map(str::to_owned).collect()
        };
        let (few, many) = (sections(most), sections(most + more));
        prop_assert!(few.iter().all(|heading| many.contains(heading)), "{few:?} {many:?}");
    }

    #[test]
    fn foreign_arguments_are_borne(
        calls in prop::collection::vec((tool(), arguments(), prop::option::of(".*")), 0..8),
    ) {
        let mut chat = chat().user("Go.");
        for (tool, arguments, result) in &calls {
            chat = chat.call(tool, arguments);
            if let Some(result) = result {
                chat = chat.result(result);
            }
        }
        let ledger = ledger(&chat.entries());
        let json = serde_json::to_string(&ledger).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back: WorkLedger = serde_json::from_str(&json).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&ledger, &back);
        let text = ledger.render(400, &CHARS, LedgerHeadings::of(ledger.language));
        prop_assert!(CHARS.size(&text) <= 400);
    }

    #[test]
    fn what_tools_print_changes_nothing_but_what_was_answered(printed in sentence()) {
        let of = |result: &str| {
            ledger(&chat().user("Go on.").call("Look", "{}").result(result).entries())
        };
        prop_assert_eq!(of(&printed), of("x"));
    }
}

#[test]
fn a_result_is_never_a_rule() {
    let entries = chat().call("Read", "{}").result("Never do that. I fixed it.").entries();
    assert!(matches!(entries[1].parts[0].body, PartBody::Result(_)));
    assert!(ledger(&entries).is_empty());
}

#[test]
fn what_failed_touched_no_file() {
    let failed = [
        ("write_file", r#"{"path":"a.py","content":"x"}"#, "Error writing to file: EACCES"),
        ("edit", r#"{"file_path":"b.py"}"#, "Failed to edit, 0 occurrences found."),
        ("shell", r#"{"command":["bash","-lc","rm c.py"]}"#, "rm: cannot remove 'c.py'"),
        ("create_file", r#"{"path":"d.py","content":"x"}"#, "File already exists."),
    ];
    let chat = chat().user("Mend them all.");
    let chat = failed
        .iter()
        .fold(chat, |chat, (tool, arguments, said)| chat.call(tool, arguments).result(said));
    let chat = chat.call("write_file", r#"{"path":"e.py","content":"x"}"#).result("Wrote 1 line.");
    // What was read was read, whatever it speaks of.
    let chat = chat.call("read_file", r#"{"path":"f.log"}"#).result("error: no port\nKilled");
    assert_eq!(check(chat), "Files:\n- f.log (read)\n- e.py (created)");
}
