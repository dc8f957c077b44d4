//! Base64, as data stands in requests.
//!
//! Invariant: reads as far as the text is base64, and no further than it is asked to. Called where
//! something is to be known of binary data.

/// The first `most` bytes, as far as the text is base64.
pub(crate) fn decode(base64: &str, most: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(most.min(base64.len()));
    let (mut bits, mut held) = (0u32, 0);
    for byte in base64.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\n' | b'\r' | b' ' => continue,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            if out.len() == most {
                break;
            }
        }
    }
    out
}

/// The bytes in Base64, without padding.
#[cfg(test)]
pub(crate) fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .enumerate()
            .fold(0u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        (0..=chunk.len())
            .for_each(|at| out.push(char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize])));
    }
    out
}
