//! Cuts a command line into words.
//!
//! Invariant: every byte is looked at once; here-documents, comments and what is read by `<` are
//! no words. Called by [`super::shell`].

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    /// A word, its quotes taken off.
    Word(String),
    /// `>` or `>>`; the next word is the file.
    Into {
        /// Whether it adds to what is there.
        append: bool,
    },
    /// The end of a command.
    End,
}

/// The pieces of a command line.
pub(super) fn tokens(text: &str) -> Vec<ShellToken> {
    let mut lexer =
        Lexer { rest: text, word: None, skip: false, documents: Vec::new(), out: Vec::new() };
    while let Some(c) = lexer.next() {
        lexer.take(c);
    }
    lexer.end_word();
    lexer.out
}

struct Lexer<'a> {
    rest: &'a str,
    /// The word at hand.
    word: Option<String>,
    /// Whether the next word is a file that is read.
    skip: bool,
    /// The delimiters of the here-documents that begin on the next line.
    documents: Vec<String>,
    out: Vec<ShellToken>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, c: char) {
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command();
                self.skip_documents();
            }
            ';' | '|' | '(' | ')' => self.end_command(),
            '&' if self.rest.starts_with('>') => {}
            '&' => self.end_command(),
            '\'' => self.quoted('\''),
            '"' => self.quoted('"'),
            '\\' => {
                if let Some(next) = self.next().filter(|c| *c != '\n') {
                    self.push(next.encode_utf8(&mut [0; 4]));
                }
            }
            '>' => self.redirect(),
            '<' => self.input(),
            '#' if self.word.is_none() => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            }
            c => self.push(c.encode_utf8(&mut [0; 4])),
        }
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn quoted(&mut self, sign: char) {
        let end = self.rest.find(sign).unwrap_or(self.rest.len());
        let text = self.rest[..end].to_owned();
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.push(&text);
    }

    fn redirect(&mut self) {
        let stream = self.word.take_if(|word| word.bytes().all(|b| b.is_ascii_digit()));
        let errors = stream.is_some_and(|stream| stream == "2");
        self.end_word();
        let append = self.rest.starts_with('>');
        self.rest = self.rest.trim_start_matches(['>', '|']);
        if self.rest.starts_with('&') {
            self.next();
            self.skip = true;
        } else if errors {
            self.skip = true;
        } else {
            self.out.push(ShellToken::Into { append });
        }
    }

    fn input(&mut self) {
        self.end_word();
        let Some(rest) = self.rest.strip_prefix('<') else {
            self.skip = true;
            return;
        };
        if let Some(rest) = rest.strip_prefix('<') {
            self.rest = rest;
            self.skip = true;
            return;
        }
        let rest = rest.trim_start_matches(['-', ' ']);
        let bare = rest.trim_start_matches(['\'', '"', '\\']);
        let end = bare
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
            .unwrap_or(bare.len());
        if end > 0 {
            self.documents.push(bare[..end].to_owned());
        }
        self.rest = bare[end..].trim_start_matches(['\'', '"']);
    }

    fn skip_documents(&mut self) {
        for delimiter in std::mem::take(&mut self.documents) {
            loop {
                let end = self.rest.find('\n');
                let line = &self.rest[..end.unwrap_or(self.rest.len())];
                self.rest = end.map_or("", |end| &self.rest[end + 1..]);
                if line.trim() == delimiter || self.rest.is_empty() {
                    break;
                }
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.skip) {
            self.out.push(ShellToken::Word(word));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.out.push(ShellToken::End);
    }
}
