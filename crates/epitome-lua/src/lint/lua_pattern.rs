//! Whether a text is a pattern of Lua, as `string.find` takes it.
//!
//! Invariant: it is read as the machine reads it, but whole: the machine finds what is wrong only
//! where a text matches that far.

/// The most captures that the machine takes.
const MOST_CAPTURES: usize = 32;

/// The signs without which `string.find` looks for the words themselves.
const SPECIAL: &[char] = &['^', '$', '*', '+', '?', '.', '(', '[', '%', '-'];

/// Whether `string.find` reads a text as a pattern.
pub(super) fn is_special(text: &str) -> bool {
    text.contains(SPECIAL)
}

/// What is wrong with a pattern, where something is.
pub(super) fn malformed(pattern: &str) -> Option<String> {
    let captures = Vec::new();
    let mut reader = PatternReader { bytes: pattern.as_bytes(), at: 0, captures };
    reader.read().err()
}

struct PatternReader<'p> {
    bytes: &'p [u8],
    at: usize,
    /// Whether each capture that began has ended.
    captures: Vec<bool>,
}

impl PatternReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn read(&mut self) -> Result<(), String> {
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => self.capture()?,
                b')' => self.end()?,
                b'%' => self.escape()?,
                b'[' => self.set()?,
                _ => self.at += 1,
            }
        }
        match self.captures.contains(&false) {
            true => Err("a `(` is never closed; `%(` stands for the bracket itself".to_owned()),
            false => Ok(()),
        }
    }

    fn capture(&mut self) -> Result<(), String> {
        self.at += 1;
        if self.captures.len() == MOST_CAPTURES {
            return Err(format!("it has more than {MOST_CAPTURES} captures"));
        }
        let is_position = self.peek() == Some(b')');
        self.captures.push(is_position);
        self.at += usize::from(is_position);
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.at += 1;
        match self.captures.iter().rposition(|has_ended| !has_ended) {
            Some(last) => self.captures[last] = true,
            None => {
                return Err("a `)` closes nothing; `%)` stands for the bracket itself".to_owned());
            }
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err("it ends with `%`; `%%` stands for the sign itself".to_owned());
        };
        self.at += 1;
        match letter {
            b'b' if self.bytes.len() < self.at + 2 => {
                Err("`%b` lacks the two signs that it balances, as in `%b()`".to_owned())
            }
            b'b' => {
                self.at += 2;
                Ok(())
            }
            b'f' if self.peek() != Some(b'[') => {
                Err("`%f` lacks its set, as in `%f[%w]`".to_owned())
            }
            b'0'..=b'9' => {
                let place = usize::from(letter - b'0').checked_sub(1);
                match place.and_then(|place| self.captures.get(place)) {
                    Some(true) => Ok(()),
                    _ => {
                        let digit = char::from(letter);
                        Err(format!("`%{digit}` names a capture that has not ended before it"))
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self) -> Result<(), String> {
        let unclosed = || "a `[` is never closed; `%[` stands for the bracket itself".to_owned();
        self.at += 1;
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        loop {
            // What stands first belongs to the set, be it a bracket.
            let byte = self.peek().ok_or_else(unclosed)?;
            self.at += 1;
            if byte == b'%' && self.at < self.bytes.len() {
                self.at += 1;
            }
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::malformed;

    /// Searches texts in which each of these patterns is read to its end where it can be.
    #[test]
    fn patterns_are_judged_as_the_machine_judges_them() {
        let lua = mlua::Lua::new();
        let patterns = [
            "a",
            "(a",
            "a)",
            "()a",
            "(a)%1",
            "%1",
            "(a%1)",
            "(a",
            "[a",
            "[]",
            "[]]",
            "[^]",
            "[^]]",
            "[a%]",
            "[a%]]",
            "[%",
            "a%",
            "%%",
            "%b",
            "%b(",
            "%b()",
            "%f",
            "%fa",
            "%f[a]",
            "%f[a",
            "(a)(b)(c)%4",
            "a*",
            "*",
            "^a$",
            "a$b",
            "%0",
            "((a)",
            "[(]a",
            "%(a",
            "(%d+",
            "[a-]",
        ];
        for pattern in patterns {
            let call = format!(
                "for _, text in {{'', '1', 'a', 'aa', 'a)', '(a', 'abc'}} do string.match(text, '{pattern}') end"
            );
            let fails = lua.load(call).exec().is_err();
            assert_eq!(malformed(pattern).is_some(), fails, "{pattern}");
        }
    }
}
