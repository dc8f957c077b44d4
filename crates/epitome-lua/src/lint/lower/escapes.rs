//! What a quoted text of Lua says.
//!
//! Invariant: a text that is no UTF-8, or whose escapes are none, is not known.

use std::iter::Peekable;
use std::str::Bytes;

/// What stands between the quotes, as the machine reads it.
pub(super) fn unescaped(literal: &str) -> Option<String> {
    let mut bytes = literal.bytes().peekable();
    let mut text = Vec::with_capacity(literal.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => escape(&mut bytes, &mut text)?,
            byte => text.push(byte),
        }
    }
    String::from_utf8(text).ok()
}

fn escape(bytes: &mut Peekable<Bytes<'_>>, text: &mut Vec<u8>) -> Option<()> {
    let byte = match bytes.next()? {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'x' => {
            let digits = [bytes.next()?, bytes.next()?];
            u8::try_from(number(&digits, 16)?).ok()?
        }
        b'z' => {
            while bytes.next_if(|byte| byte.is_ascii_whitespace() || *byte == 11).is_some() {}
            return Some(());
        }
        b'u' => {
            bytes.next_if_eq(&b'{')?;
            let digits: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'}').collect();
            let letter = char::from_u32(number(&digits, 16)?)?;
            text.extend(letter.encode_utf8(&mut [0; 4]).bytes());
            return Some(());
        }
        digit @ b'0'..=b'9' => {
            let mut digits = vec![digit];
            while digits.len() < 3
                && let Some(digit) = bytes.next_if(u8::is_ascii_digit)
            {
                digits.push(digit);
            }
            u8::try_from(number(&digits, 10)?).ok()?
        }
        b'\r' => {
            bytes.next_if_eq(&b'\n');
            b'\n'
        }
        byte => byte,
    };
    text.push(byte);
    Some(())
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(text, base).ok())?
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_are_read_as_the_machine_reads_them() {
        let lua = mlua::Lua::new();
        let texts = [
            r#"(?i)\\bok\n\t\"\'"#,
            r"\065\10\x41\u{e9}\z   x",
            r"a\q\97b\0",
            "a\\\nb",
            r"\x4",
            r"\300",
            r"\xff",
            "é\\\\",
        ];
        for text in texts {
            let read: Option<String> = lua.load(format!("return \"{text}\"")).eval().ok();
            assert_eq!(unescaped(text), read, "{text}");
        }
    }
}
