//! Pixel sizes, from as much of a base64 image as its header takes (RULES 124).
//!
//! Invariant: reads headers only; anything it does not understand has no size. Called by the
//! readers of both formats.

use epitome_types::{ContentId, ImagePart};

use crate::base64::decode;

/// How far into a JPEG its frame header is looked for: metadata and thumbnails stand before it.
const MOST_JPEG: usize = 256 * 1024;

/// The size of a base64-encoded PNG, GIF, WebP or JPEG image.
pub(crate) fn size(base64: &str) -> ImagePart {
    let head = decode(base64, 32);
    let pixels = match head.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => be32(&head, 16).zip(be32(&head, 20)),
        [b'G', b'I', b'F', b'8', ..] => le16(&head, 6).zip(le16(&head, 8)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(&head),
        [0xFF, 0xD8, ..] => jpeg(&decode(base64, MOST_JPEG)),
        _ => None,
    };
    let pixels = pixels.filter(|&(width, height)| width > 0 && height > 0);
    ImagePart { content: ContentId::for_text(base64), pixels }
}

/// The size of an image given as `data:image/png;base64,…`; unknown for any other address.
pub(crate) fn size_of_url(url: &str) -> ImagePart {
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((_, base64)) => size(base64),
        None => ImagePart { content: ContentId::for_text(url), pixels: None },
    }
}

fn webp(head: &[u8]) -> Option<(u32, u32)> {
    match head.get(12..16)? {
        b"VP8 " => Some((le16(head, 26)? & 0x3FFF, le16(head, 28)? & 0x3FFF)),
        b"VP8L" => {
            let bits = le16(head, 21)? | le16(head, 23)? << 16;
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        b"VP8X" => Some((le24(head, 24)? + 1, le24(head, 27)? + 1)),
        _ => None,
    }
}

/// Walks the segments up to the frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        match *bytes.get(at + 1)? {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD7 => at += 2,
            0xC4 | 0xC8 | 0xCC => at += 2 + be16(bytes, at + 2)? as usize,
            0xC0..=0xCF => return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?)),
            _ => at += 2 + be16(bytes, at + 2)? as usize,
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(be16(bytes, at)? << 16 | be16(bytes, at + 2)?)
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    be16(bytes, at).map(|value| (value >> 8) | (value & 0xFF) << 8)
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base64::encode;

    fn check(bytes: &[u8], pixels: Option<(u32, u32)>) {
        assert_eq!(size(&encode(bytes)).pixels, pixels);
    }

    #[test]
    fn reads_the_size_of_every_kind() {
        check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\x00\0\0\x02\x58\x08", Some((1024, 600)));
        check(b"GIF89a\x40\x01\xc8\x00\0\0", Some((320, 200)));
        check(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01", Some((640, 480)));
        check(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\x42\x2c\x00\0\0\0", Some((640, 178)));
        check(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0", Some((800, 600)));
        let mut jpeg = b"\xff\xd8\xff\xe1\x80\x00".to_vec();
        jpeg.resize(4 + 0x8000, 7);
        jpeg.extend(b"\xff\xff\xc4\x00\x03\x00\xff\xc2\x00\x11\x08\x01\xe0\x02\x80\x03");
        check(&jpeg, Some((640, 480)));
    }

    #[test]
    fn what_is_no_image_has_no_size() {
        check(b"hello, this is a text that is long enough", None);
        check(b"\x89PNG\r\n\x1a\n", None);
        check(b"\xff\xd8\xff\xe1", None);
        check(b"", None);
        assert_eq!(size_of_url("https://example.org/a.png").pixels, None);
        let png = encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x00\x02\0\0\x00\x03\x08");
        assert_eq!(size_of_url(&format!("data:image/png;base64,{png}")).pixels, Some((2, 3)));
    }
}
