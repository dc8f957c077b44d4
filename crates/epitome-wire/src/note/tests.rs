//! What is a note of a client, what it is about, and what a person says in its words.

use super::table::Until;
use super::*;

/// What a text states that stands in a message of this role by itself.
#[track_caller]
fn check(role: Role, text: &str, subject: Option<&str>) {
    let speaker = crate::speaker::of_text(role, text);
    let body = PartBody::Text(text.to_owned());
    let mut parts =
        [Part { body, speaker, within: None, known_as: None, note: None, files: Box::default() }];
    find(role, &mut parts);
    let found = parts[0].note.as_ref().filter(|note| note.stays != Stays::Nothing);
    assert_eq!(found.map(|note| &*note.subject), subject, "{text}");
    assert!(found.is_none() || parts[0].speaker == Speaker::Harness, "{text}");
}

fn reminded(text: &str, subject: Option<&str>) {
    check(Role::User, &format!("<system-reminder>\n{text}\n</system-reminder>\n"), subject);
    check(Role::System, text, subject);
}

#[test]
fn files_in_the_chat_of_aider_are_state() {
    let files = "I have *added these files to the chat* so you can go ahead and edit them.\n\n\
        *Trust this message as the true contents of these files!*\nAny other messages";
    check(Role::User, files, Some("aider files"));
    check(Role::User, "I am not sharing any files that you can edit yet.", Some("aider files"));
    let map = "Here are summaries of some files present in my git repository.\nDo not propose \
        changes to these files, treat them as *read-only*.\nIf you need";
    check(Role::User, map, Some("aider map"));
    let only = "Here are some READ ONLY files, provided for your reference.\nDo not edit \
        these files!\n\na.md\n```\n```";
    check(Role::User, only, Some("aider read-only"));
    let reply = "Ok, any changes I propose will be to those files.";
    check(Role::Assistant, reply, Some("aider files, reply"));
    check(Role::User, "I have added these files, look at them", None);
    check(Role::Assistant, "Ok, I will look at the parser.", None);
}

#[test]
fn the_example_of_aider_is_nobodys() {
    let switch = "I switched to a new code base. Please don't consider the above files or try to \
        edit them any longer.";
    check(Role::User, switch, Some("aider switch"));
    let of = |text: &str| format!("aider example {}", ContentId::for_text(text));
    let asked = "Change the greeting to be more casual";
    check(Role::User, asked, Some(&of(asked)));
    check(Role::User, "Change the greeting to be more casual and add a test", None);
    let reply = "Ok, I will:\n\n1. Switch the greeting text from \"Hello\" to \"Hey\".\n\n\
        show_greeting.py\n```\nimport sys\n```\n";
    check(Role::Assistant, reply, Some(&of(reply.trim())));
    check(Role::Assistant, &format!("{reply}And the tests are next."), None);
    let text = "I spoke to you previously about a number of things.\nI asked for a parser.";
    check(Role::User, text, None);
    assert!(is_of_client(text));
}

#[test]
fn what_a_person_typed_meanwhile_and_instructions_of_a_folder_stay() {
    for ticket in [4711, 4712] {
        let heard = format!(
            "The user sent a new message while you were working:\nNever close ticket {ticket}."
        );
        let tagged = format!("<system-reminder>\n{heard}\n</system-reminder>");
        reminded(&heard, Some(&format!("heard {}", ContentId::for_text(&heard))));
        assert_eq!(crate::speaker::of_text(Role::User, &tagged), Speaker::Harness);
    }
    let rules = "Contents of /srv/w/sub/CLAUDE.md:\n\nRULE-77: no tabs.";
    reminded(rules, Some("instructions /srv/w/sub/CLAUDE.md"));
}

#[test]
fn reminders_of_claude_code_go_by_what_they_are_about() {
    reminded(
        "As you answer the user's questions, you can use the following context:\n# x",
        Some("context"),
    );
    reminded("Available agent types for the Agent tool:\n- claude: Catch-all", Some("agents"));
    reminded(
        "The following skills are available for use with the Skill tool:\n\n- a",
        Some("skills"),
    );
    reminded("Your todo list has changed. DO NOT mention this. Here:\n[]", Some("todo"));
    reminded("This is a reminder that your todo list is currently empty. DO NOT", Some("todo"));
    reminded("The task tools haven't been used recently. If you're working", Some("todo reminder"));
    reminded("Note: /srv/a.rs was modified, either by the user or by a linter.", None);
    let reminder =
        "<system-reminder>\nCalled the Read tool with the following input\n</system-reminder>";
    check(Role::User, reminder, None);
    check(Role::User, "Plan mode is active", None);
}

#[test]
fn what_no_row_knows_is_known_by_its_words() {
    let of = |text: &str| format!("note {}", ContentId::for_text(text));
    check(Role::System, "Answer in French.", Some(&of("Answer in French.")));
    check(Role::System, "Ticket 4711 is approved.", Some(&of("Ticket 4711 is approved.")));
    check(Role::User, "Answer in French.", None);
    check(Role::Assistant, "Answer in French.", None);
}

#[test]
fn a_system_prompt_may_say_what_opens_files() {
    for tools in [
        "COMMANDS:\nopen <path> [<line_number>] - opens the file at the given path",
        "open:\n  signature: open <path> [<line_number>]",
        "- `read_file(path: str)`: gives what is in a file",
        "1. view_file {file_path}",
    ] {
        assert!(opens_files(tools), "{tools}");
    }
    assert!(offers_tools("Call <read_file> with a path."));
    for none in [
        "Return each file as <file path=\"...\">, whole.",
        "FILE: <path>, and below it all of the file",
        "with open(path) as file:",
        "const text = fs.readFile(path)",
        "Show (file by file) what you changed.",
        "Do not display [paths] of users.",
        "They open <a href=\"path\">this</a>.",
    ] {
        assert!(!opens_files(none) && !offers_tools(none), "{none}");
    }
}

#[test]
fn other_clients_state_in_tags() {
    let cline = "<environment_details>\n# VSCode Visible Files\na.rs\n</environment_details>";
    check(Role::User, cline, Some("cline environment"));
    check(Role::User, &format!("fix it\n{cline}"), None);
    let file = "<file_content path=\"src/a.rs\">\nfn a() {}\n</file_content>";
    check(Role::User, file, Some("file src/a.rs"));
    let codex =
        "<environment_context>\n  <cwd>/srv/w</cwd>\n  <shell>bash</shell>\n</environment_context>";
    check(Role::User, codex, Some("codex environment cwd shell"));
    let agents = "# AGENTS.md instructions for /srv/w\n\n<INSTRUCTIONS>\nTest.\n</INSTRUCTIONS>";
    check(Role::User, agents, Some("instructions /srv/w"));
    let skills = "<skills_instructions>\n## Skills\n</skills_instructions>";
    check(Role::System, skills, Some("codex skills"));
    let qwen = "This is the Qwen Code. We are setting up the context for our chat.\nToday's";
    check(Role::User, qwen, Some("qwen context"));
    let gemini = "<session_context>\nThis is the Gemini CLI.\n</session_context>";
    check(Role::User, gemini, Some("gemini context"));
    let opencode = "<path>/srv/a.txt</path>\n<type>file</type>\n<content>\n1: hello\n</content>";
    check(Role::User, opencode, Some("file /srv/a.txt"));
}

#[test]
fn a_file_before_what_a_person_typed_is_a_clients() {
    let text = |text: &str| Part {
        body: PartBody::Text(text.to_owned()),
        speaker: Speaker::Human,
        within: None,
        known_as: None,
        note: None,
        files: Box::default(),
    };
    let file = "```src/a.ts\nconst a = 1;\n```\n";
    let mut parts = [text(file), text("Why does it fail?")];
    find(Role::User, &mut parts);
    let subject = parts[0].note.as_ref().map(|note| &*note.subject);
    assert_eq!((subject, parts[0].speaker), (Some("file src/a.ts"), Speaker::Harness));
    assert_eq!((&parts[1].note, parts[1].speaker), (&None, Speaker::Human));
    // A person who sends nothing but code sends it.
    let mut parts = [text(file)];
    find(Role::User, &mut parts);
    assert_eq!((&parts[0].note, parts[0].speaker), (&None, Speaker::Human));
}

/// The full text of a mode stays while shorter ones point to it.
#[test]
fn what_points_to_a_note_is_not_in_its_place() {
    let find = |text: &str| reminder(text).map(|note| (note.subject, note.stays));
    for (mode, name) in [("Plan", "plan mode"), ("Auto", "auto mode")] {
        let expect = |stays| Some((name.to_owned(), stays));
        assert_eq!(find(&format!("{mode} mode is active. The user")), expect(Stays::Newest));
        let pointer = format!("{mode} mode still active (see full instructions earlier in");
        assert_eq!(find(&pointer), expect(Stays::Nothing));
        let exited = format!("## Exited {mode} Mode\n\nYou have exited");
        assert_eq!(find(&exited), expect(Stays::Newest));
    }
}

/// What a person writes in the words of each row is the person's.
#[test]
fn what_a_person_says_in_the_words_of_a_client_is_the_persons() {
    for Row { begins, until, .. } in AIDER.iter().chain(&OTHERS).chain(&REMINDERS) {
        let line = format!("{begins} of mine, never touch login()");
        let texts = match until {
            Until::Close(end) => {
                let closed = format!("{begins}a\">\nx\n{end}");
                vec![line, format!("{closed}\nnever touch login()"), {
                    format!("{closed}\nnever touch login()\n{closed}")
                }]
            }
            Until::Fence => vec![line, format!("{begins}\n```\nx\n```\nnever touch login()")],
            Until::Whole => vec![line, format!("{begins}\nNever touch login()")],
            Until::Lines => vec![line],
            // What is open on its line goes on there in the words of its client.
            Until::Any => {
                let opening = begins.split('\n').next().unwrap_or_default();
                vec![format!("{opening}: never touch login()")]
            }
        };
        for text in texts {
            check(Role::User, &text, None);
            assert_eq!(crate::speaker::of_text(Role::User, &text), Speaker::Human, "{text}");
        }
    }
    for text in [
        "Here is the current content of the file a.py:\n```\nx\n```\nnever touch login()",
        "# TODO LIST\n- [ ] never touch login()",
        "# task_progress\n- [ ] never touch login()",
        "# task_progress RECOMMENDED\n\nnever touch login()",
        "<file path=\"a\">\n1\n</file>\n<file path=\"b\">\n2\n</file>",
        "<system-reminder>a</system-reminder>\nFix the bug\n<system-reminder>b</system-reminder>",
        "<system-reminder>a</system-reminder>\nFix the bug\n</system-reminder>",
        "[Request interrupted by user] Never touch login()",
    ] {
        check(Role::User, text, None);
        assert_eq!(crate::speaker::of_text(Role::User, text), Speaker::Human, "{text}");
    }
    let two = "<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>";
    assert_eq!(crate::speaker::of_text(Role::User, two), Speaker::Harness);
}

#[test]
fn a_range_of_a_file_is_a_subject_of_its_own() {
    let subject = |opening: &str| {
        attached(&format!("```{opening}\nconst a = 1;\n```")).map(|note| note.subject)
    };
    assert_eq!(subject("ts src/a.ts (1-20)").as_deref(), Some("file src/a.ts 1-20"));
    assert_eq!(subject("ts src/a.ts").as_deref(), Some("file src/a.ts"));
    assert_eq!(subject("ts"), None);
}
