//! The files that a command line names, where they are plain to see.
//!
//! Invariant: what is not one of a few well-known commands, or holds a variable or a pattern, says
//! nothing; the contents of here-documents are never read. Called by [`super::files`].

use serde_json::Value;

use super::lexer::{self, ShellToken};
use super::touch::{Did, Touch, is_file};

/// The files that the command of a call's arguments touches.
pub(super) fn touches(arguments: &Value) -> Vec<Touch> {
    let of = |key: &&str| arguments.get(*key);
    match ["command", "cmd", "script"].iter().find_map(of).unwrap_or(arguments) {
        Value::String(line) => of_line(line),
        Value::Array(words) => of_words(words),
        _ => Vec::new(),
    }
}

/// A list of words: a shell with its line, or a command by itself.
fn of_words(words: &[Value]) -> Vec<Touch> {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words[..] {
        [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => of_line(line),
        _ => {
            let mut line = CommandLine::default();
            words.into_iter().for_each(|word| line.words.push(word.to_owned()));
            line.end();
            line.out
        }
    }
}

fn of_line(text: &str) -> Vec<Touch> {
    let mut line = CommandLine::default();
    for token in lexer::tokens(text) {
        line.take(token);
    }
    line.end();
    line.out
}

/// A command line, read from left to right.
#[derive(Default)]
struct CommandLine {
    /// The words of the command at hand.
    words: Vec<String>,
    /// Where the next word is written to.
    redirect: Option<Did>,
    /// Where the commands run, as far as `cd` says.
    directory: String,
    out: Vec<Touch>,
}

impl CommandLine {
    fn take(&mut self, token: ShellToken) {
        match (token, self.redirect.take()) {
            (ShellToken::Word(path), Some(how)) => self.touch(&path, how),
            (ShellToken::Word(word), None) => self.words.push(word),
            (ShellToken::Into { append }, _) => {
                self.redirect = Some(if append { Did::Change } else { Did::Put });
            }
            (ShellToken::End, _) => self.end(),
        }
    }

    /// The command at hand is complete.
    fn end(&mut self) {
        let words = std::mem::take(&mut self.words);
        let mut words = words.iter().map(String::as_str).skip_while(|word| is_prefix(word));
        let Some(mut command) = words.next() else { return };
        let mut words: Vec<&str> = words.collect();
        if command == "git" && !words.is_empty() {
            command = match words.remove(0) {
                verb @ ("mv" | "rm") => verb,
                "checkout" => return self.put_back(&PutBack::by_checkout(&words)),
                "restore" => return self.put_back(&PutBack::by_restore(&words)),
                _ => return,
            };
        }
        let flags = |flag: char| {
            words.iter().any(|word| {
                word.strip_prefix('-').is_some_and(|it| !it.starts_with('-') && it.contains(flag))
            })
        };
        let named: Vec<&str> =
            words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        match command {
            "cd" => named.first().into_iter().for_each(|it| self.directory = self.within(it)),
            "cat" | "head" | "tail" | "less" | "more" | "bat" | "nl" => {
                self.each(&named, Did::Read);
            }
            "sed" | "perl" => {
                let files = if flags('e') { after_script(&words) } else { skip_first(&named) };
                let how =
                    if flags('i') { Some(Did::Change) } else { flags('n').then_some(Did::Read) };
                how.into_iter().for_each(|how| self.each(&files, how));
            }
            "rm" | "unlink" => self.each(&named, Did::Delete),
            "touch" => self.each(&named, Did::Put),
            "tee" => self.each(&named, if flags('a') { Did::Change } else { Did::Put }),
            "mv" | "cp" => self.moved(&named, command == "mv"),
            _ => {}
        }
    }

    /// Takes `git checkout` and `git restore` of files: as they were last committed, or as they were in
    /// some other version.
    fn put_back(&mut self, PutBack { version, files, staged, worktree }: &PutBack<'_>) {
        if *staged && !worktree {
            return;
        }
        let is_last = version.is_none_or(|version| matches!(version, "HEAD" | "@"));
        let how = if is_last { Did::Restore } else { Did::Version };
        self.each(files, how);
    }

    fn moved(&mut self, named: &[&str], gone: bool) {
        let Some((to, from)) = named.split_last() else { return };
        if gone {
            self.each(from, Did::Delete);
        }
        let last = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains('.'));
        if let [from] = from
            && last(from) == last(to)
        {
            self.touch(to, Did::Put);
        }
    }

    fn each(&mut self, paths: &[&str], how: Did) {
        paths.iter().for_each(|path| self.touch(path, how));
    }

    fn touch(&mut self, path: &str, how: Did) {
        let path = self.within(path);
        if is_file(&path) && path.bytes().any(|byte| !byte.is_ascii_digit()) {
            self.out.push(Touch { path, how });
        }
    }

    /// A path as it is called outside the directory.
    fn within(&self, path: &str) -> String {
        let rooted = path.starts_with(['/', '~', '-', '$']) || self.directory.is_empty();
        if rooted { path.to_owned() } else { format!("{}/{path}", self.directory) }
    }
}

/// What `git checkout` or `git restore` puts back.
#[derive(Debug, Default)]
struct PutBack<'a> {
    /// The version that it is of, where that is said.
    version: Option<&'a str>,
    files: Vec<&'a str>,
    /// Whether the index is said to be changed.
    staged: bool,
    /// Whether the files themselves are said to be.
    worktree: bool,
}

impl<'a> PutBack<'a> {
    /// What behind `--` stands are files, and what before it a version; without it anything may be a file.
    fn by_checkout(words: &[&'a str]) -> Self {
        let is_named = |word: &&'a str| !word.starts_with('-');
        let apart = words.iter().position(|word| *word == "--");
        let (version, files) = match apart {
            Some(at) => (words[..at].iter().copied().find(is_named), &words[at + 1..]),
            None => (None, words),
        };
        let files = files.iter().copied().filter(is_named).collect();
        Self { version, files, ..Self::default() }
    }

    /// A version is the value of an option, and all else that is named are files.
    fn by_restore(words: &[&'a str]) -> Self {
        let mut out = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let joined = word.strip_prefix("--source=").or_else(|| word.strip_prefix("-s"));
            match (word, joined) {
                ("-s" | "--source", _) => out.version = words.next(),
                (_, Some(version)) => out.version = Some(version),
                ("--staged", _) => out.staged = true,
                ("--worktree", _) => out.worktree = true,
                (flags, _) if flags.starts_with('-') => {
                    let has = |flag| !flags.starts_with("--") && flags.contains(flag);
                    out.staged |= has('S');
                    out.worktree |= has('W');
                }
                (file, _) => out.files.push(file),
            }
        }
        out
    }
}

/// What stands before a command without changing what it does to files.
fn is_prefix(word: &str) -> bool {
    matches!(word, "sudo" | "time" | "command" | "exec" | "env" | "then" | "do" | "else")
        || word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// The files of `sed -i -e SCRIPT FILE…`.
fn after_script<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut script = false;
    let file = |word: &&&str| {
        let skip = std::mem::replace(&mut script, word.starts_with('-') && word.ends_with('e'));
        !skip && !word.starts_with('-')
    };
    words.iter().filter(file).copied().collect()
}

fn skip_first<'a>(named: &[&'a str]) -> Vec<&'a str> {
    named.iter().copied().filter(|word| !word.is_empty()).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, expected: &[(&str, Did)]) {
        let found = touches(&arguments);
        let found: Vec<(&str, Did)> = found.iter().map(|it| (it.path.as_str(), it.how)).collect();
        assert_eq!(found, expected, "{arguments}");
    }

    fn line(text: &str, expected: &[(&str, Did)]) {
        check(json!({ "command": text }), expected);
    }

    #[test]
    fn what_is_restored_is_of_a_version() {
        for last in ["", "-s HEAD ", "--source=HEAD ", "--source @ ", "-W ", "-SW ", "-q -- "] {
            line(&format!("git restore {last}a.rs"), &[("a.rs", Did::Restore)]);
        }
        for version in ["--source=v1.2", "--source v1.2", "-s v1.2", "-sv1.2", "-s v1.2 -SW --"] {
            line(&format!("git restore {version} a.rs"), &[("a.rs", Did::Version)]);
        }
        line(
            "git restore a.rs --source=HEAD~2 b.rs",
            &[("a.rs", Did::Version), ("b.rs", Did::Version)],
        );
        line("git restore --staged a.rs", &[]);
        line("git restore -S --source=HEAD~1 a.rs", &[]);
        line("git restore --staged --worktree a.rs", &[("a.rs", Did::Restore)]);
        line("git restore -s", &[]);
    }

    #[test]
    fn plain_commands_name_their_files() {
        line("cat src/a.rs | grep foo", &[("src/a.rs", Did::Read)]);
        line("head -n 20 a.md; tail -5 b.md", &[("a.md", Did::Read), ("b.md", Did::Read)]);
        line("sed -n '1,5p' a.rs", &[("a.rs", Did::Read)]);
        line("sed -i '' 's/a/b/g' a.rs b.rs", &[("a.rs", Did::Change), ("b.rs", Did::Change)]);
        line(
            "sed -i -e 's/a/b/' a.rs && rm -rf old.rs",
            &[("a.rs", Did::Change), ("old.rs", Did::Delete)],
        );
        line(
            "git checkout a.rs && git restore b.rs",
            &[("a.rs", Did::Restore), ("b.rs", Did::Restore)],
        );
        line("git checkout -- a.rs", &[("a.rs", Did::Restore)]);
        line("git checkout HEAD~2 -- a.rs", &[("a.rs", Did::Version)]);
        line("git checkout HEAD -- a.rs", &[("a.rs", Did::Restore)]);
        line("git mv a.rs b.rs", &[("a.rs", Did::Delete), ("b.rs", Did::Put)]);
        line("mv a.rs src", &[("a.rs", Did::Delete)]);
        line(
            "echo hi > out.txt 2>&1 && echo x >> log.txt 2>/dev/null",
            &[("out.txt", Did::Put), ("log.txt", Did::Change)],
        );
        line("X=1 sudo tee -a /etc/hosts < in.txt", &[("/etc/hosts", Did::Change)]);
        line("cd packages/a && cat src/b.ts", &[("packages/a/src/b.ts", Did::Read)]);
        line("cat \"my file.txt\" 'it.md'", &[("my file.txt", Did::Read), ("it.md", Did::Read)]);
    }

    #[test]
    fn lists_of_words_are_commands_too() {
        check(json!({ "command": ["bash", "-lc", "cat a.rs"] }), &[("a.rs", Did::Read)]);
        check(json!({ "command": ["cat", "a > b.rs"] }), &[]);
        check(json!({ "command": ["rm", "a.rs"] }), &[("a.rs", Did::Delete)]);
        check(json!({ "command": 7 }), &[]);
        check(json!(["x"]), &[]);
    }

    #[test]
    fn what_is_not_plain_says_nothing() {
        line("cat $FILE *.rs", &[]);
        line("for f in a b; do cat \"$f\"; done", &[]);
        line("cargo test -p a > /dev/null", &[]);
        line(
            "python - <<'EOF'\nopen('x').write('rm a.rs')\nrm b.rs\nEOF\nrm c.rs",
            &[("c.rs", Did::Delete)],
        );
        line("cat > a.md <<EOF\ncat b.md\nEOF", &[("a.md", Did::Put)]);
        line("echo 'unfinished", &[]);
        line("cat <<", &[]);
    }
}
